package cdc

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/freshet-cache/freshet/proxy"
)

// version is one value of a key, and when it became visible.
type version struct {
	exists  bool
	visible proxy.Time
}

// entry is what a naive cache holds of a key: which version, and since when
// it is known to be the newest.
type entry struct {
	version  int
	asof     proxy.Time
	position proxy.Position
}

// naive is a cache by the letter of contract 6.2, without stamps: it is never
// in two places at once.
type naive struct {
	mu      sync.Mutex
	entries map[string]entry // by the text of the key
}

func newNaive() *naive { return &naive{entries: map[string]entry{}} }

func (n *naive) Change(key proxy.Key, image *proxy.Image, _ proxy.Record) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e, ok := n.entries[string(key.Text)]
	if !ok {
		return
	}
	if image == nil || image.Position.Compare(e.position) <= 0 {
		delete(n.entries, string(key.Text))
		return
	}
	_, text, _ := image.Row.Lookup([]byte("v"))
	v, err := strconv.Atoi(string(text))
	if err != nil {
		v = -1 // no value that was ever committed
	}
	n.entries[string(key.Text)] = entry{version: v, asof: image.Commit, position: image.Position}
}

func (n *naive) Void(u *proxy.UseCase) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key := range n.entries {
		if len(key) > len(u.Name) && key[:len(u.Name)+1] == u.Name+":" {
			delete(n.entries, key)
		}
	}
}

func (n *naive) fill(key string, e entry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.entries[key] = e
}

func (n *naive) get(key string) (entry, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e, ok := n.entries[key]
	return e, ok
}

// honest checks as-of honesty (C2): at max(e.asof, w) no successor of the
// entry's version was visible.
func honest(key string, e entry, w proxy.Time, history []version) error {
	asof := max(e.asof, w)
	if e.version < 0 || e.version >= len(history) {
		return fmt.Errorf("%s: version %d of %d was never committed", key, e.version, len(history))
	}
	if next := e.version + 1; next < len(history) && history[next].visible <= asof {
		return fmt.Errorf("%s: version %d is said to be the newest at %s (watermark %s), but its successor was visible at %s",
			key, e.version, seconds(asof), seconds(w), seconds(history[next].visible))
	}
	return nil
}
