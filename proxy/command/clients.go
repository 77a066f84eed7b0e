package command

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Carrier is what a connection's carrier knows of it. Its methods may be
// called concurrently.
type Carrier interface {
	Addresses() (remote, local string)
	Idle() time.Duration // since it sent something
	Kill()
}

// clients are the sessions that have a carrier, by their IDs.
type clients struct {
	mu   sync.Mutex
	byID map[int64]*Session
}

func (c *clients) add(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID[s.id] = s
}

func (c *clients) remove(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byID, s.id)
}

func (c *clients) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byID)
}

// all returns the sessions in the order of their IDs.
func (c *clients) all() []*Session {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.byID))
	c.mu.Unlock()
	slices.SortFunc(all, func(a, b *Session) int { return cmp.Compare(a.id, b.id) })
	return all
}

// Attach makes the session one of the clients of the node, until End. It comes
// before the first Step.
func (s *Session) Attach(c Carrier) {
	s.carrier, s.began = c, time.Now()
	s.show()
	s.all.clients.add(s)
}

// End takes the session out of the clients of the node.
func (s *Session) End() { s.all.clients.remove(s) }

// profile is what other connections may see of one.
type profile struct {
	name, user       string
	libName, libVer  string
	v3, transactions bool
}

// show tells other connections what has changed of this one. What only one
// goroutine may look at stays with it.
func (s *Session) show() {
	if p := s.shown.Load(); p != nil && p.name == string(s.name) && p.user == s.user &&
		p.libName == s.libName && p.libVer == s.libVer && p.v3 == s.w.V3 && p.transactions == s.open {
		return
	}
	s.shown.Store(&profile{name: string(s.name), user: s.user, libName: s.libName, libVer: s.libVer, v3: s.w.V3, transactions: s.open})
}

// line describes a client as CLIENT LIST does.
func (s *Session) line(latest *command) string {
	p := s.shown.Load()
	remote, local := s.carrier.Addresses()
	multi, version, called := -1, 2, "NULL"
	if p.transactions {
		multi = 0
	}
	if p.v3 {
		version = 3
	}
	if latest != nil {
		called = latest.full
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s name=%s age=%d idle=%d flags=N db=0 sub=0 psub=0 ssub=0 multi=%d cmd=%s user=%s redir=-1 resp=%d lib-name=%s lib-ver=%s\n",
		s.id, remote, local, p.name, int64(time.Since(s.began).Seconds()), int64(s.carrier.Idle().Seconds()), multi, called, p.user, version, p.libName, p.libVer)
}

// clientInfo describes this connection.
func (s *Session) clientInfo([][]byte) {
	if s.carrier == nil {
		s.w.Verbatim("")
		return
	}
	s.show()
	s.w.Verbatim(s.line(s.latest))
}

// clientList: CLIENT LIST [TYPE type | ID id [id …]].
func (s *Session) clientList(args [][]byte) {
	keep, err := listed(args[2:])
	if err != nil {
		s.refuse(err)
		return
	}
	var b strings.Builder
	for _, other := range s.all.clients.all() {
		latest := other.called.Load()
		if other == s {
			latest = s.latest
		}
		if keep(other) {
			b.WriteString(other.line(latest))
		}
	}
	s.w.Verbatim(b.String())
}

func listed(words [][]byte) (keep func(*Session) bool, err error) {
	if len(words) == 0 {
		return func(*Session) bool { return true }, nil
	}
	switch word := strings.ToLower(string(words[0])); {
	case word == "type" && len(words) == 2:
		return ofType(words[1])
	case word == "id" && len(words) > 1:
		ids := map[int64]bool{}
		for _, w := range words[1:] {
			id, err := clientNumber(w)
			if err != nil {
				return nil, errClientID
			}
			ids[id] = true
		}
		return func(s *Session) bool { return ids[s.id] }, nil
	}
	return nil, errSyntax
}

// ofType knows the types of Redis: all clients here are normal ones.
func ofType(word []byte) (keep func(*Session) bool, err error) {
	switch strings.ToLower(string(word)) {
	case "normal":
		return func(*Session) bool { return true }, nil
	case "master", "replica", "slave", "pubsub":
		return func(*Session) bool { return false }, nil
	}
	return nil, refusal(fmt.Sprintf("ERR Unknown client type '%s'", cString(word, 128)))
}
