package cdc

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// newCatalog maps table users twice, by its primary key and by another unique
// index, and table orders once.
func newCatalog(t testing.TB) *proxy.Catalog {
	t.Helper()
	users := &row.Mapping{Spec: row.Spec{Name: "users", Table: "users"}, Primary: true,
		Columns: []row.KeyColumn{{Name: "id", Kind: row.KeyInt}}}
	names := &row.Mapping{Spec: row.Spec{Name: "names", Table: "users"},
		Columns: []row.KeyColumn{{Name: "name"}}}
	orders := &row.Mapping{Spec: row.Spec{Name: "orders", Table: "orders"}, Primary: true,
		Columns: []row.KeyColumn{{Name: "shop"}, {Name: "no", Kind: row.KeyInt}}}
	c, err := proxy.NewCatalog(users, names, orders)
	if err != nil {
		t.Fatal(err)
	}
	learn(c)
	return c
}

// learn does what a source does after its columns were forgotten.
func learn(c *proxy.Catalog) {
	for _, u := range c.All() {
		columns := []string{"id", "name", "v"}
		if u.Mapping.Table == "orders" {
			columns = []string{"shop", "no", "v"}
		}
		u.Mapping.Learn(u.Mapping.Generation(), &row.Schema{Columns: columns})
	}
}

// recorder is a Cache that remembers its calls as text.
type recorder struct {
	mu    sync.Mutex
	calls []string
}

func (r *recorder) Change(key proxy.Key, image *proxy.Image, _ proxy.Record) {
	if image == nil {
		r.add("drop %s", key.Text)
		return
	}
	r.add("refill %s %s at %d, as of %s", key.Text, image.Row.AppendJSON(nil), image.Position.Commit, seconds(image.Commit))
}

func (r *recorder) Void(u *proxy.UseCase) {
	if u.Mapping.Schema() == nil {
		r.add("void %s, columns forgotten", u.Name)
		return
	}
	r.add("void %s", u.Name)
}

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
}

func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.calls
	r.calls = nil
	return out
}

func seconds(t proxy.Time) string {
	switch t {
	case proxy.Never:
		return "never"
	case proxy.Forever:
		return "forever"
	}
	return fmt.Sprintf("%gs", time.Duration(t).Seconds())
}

// handClock is set by hand.
type handClock struct{ lo, hi atomic.Int64 }

func newClock(t proxy.Time) *handClock {
	c := &handClock{}
	c.set(t, t)
	return c
}

func (c *handClock) set(lo, hi proxy.Time) { c.lo.Store(int64(lo)); c.hi.Store(int64(hi)) }

func (c *handClock) Bounds() (lo, hi proxy.Time) {
	return proxy.Time(c.lo.Load()), proxy.Time(c.hi.Load())
}

func primary(timeline uint64) proxy.Identity { return proxy.Identity{System: 1, Timeline: timeline} }

func streamOf(timeline uint64, slot string, partitions int) event.StreamID {
	return event.StreamID{Source: primary(timeline), Slot: slot, Topic: 1, Partitions: partitions}
}

func at(commit uint64) proxy.Position { return proxy.Position{Commit: commit} }

func sec(s float64) proxy.Time { return proxy.Time(s * 1e9) }
