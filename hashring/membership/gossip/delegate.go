package gossip

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/memberlist"

	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
)

const leaving = hashring.Leaving

// delegate says what travels. memberlist calls it, and events, with its lock
// held: they do not wait and do not call back.
type delegate struct{ d *Directory }

// NodeMeta is this node's record. It fits: its words are bounded, and the name
// travels beside it.
func (g delegate) NodeMeta(int) []byte {
	self := *g.d.self.Load()
	self.Name = ""
	record, err := membership.Encode(self)
	if err != nil {
		return nil // Announce let nothing pass that does not encode
	}
	return record
}

func (delegate) NotifyMsg([]byte)                {}
func (delegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState tells who has keys to those that join: their names, a line each.
func (g delegate) LocalState(join bool) []byte {
	if !join || g.d.options.Owners == nil {
		return nil
	}
	return []byte(strings.Join(g.d.options.Owners(), "\n"))
}

// MergeRemoteState finds this node among those that have keys, when it starts
// again before it was gone.
func (g delegate) MergeRemoteState(names []byte, join bool) {
	if join && slices.Contains(strings.Split(string(names), "\n"), g.d.config.Name) {
		g.d.missed.Store(true)
	}
}

// events keeps who is there. (memberlist's own list is of records that change
// while they are read.)
type events struct{ d *Directory }

func (e events) NotifyJoin(n *memberlist.Node)   { e.set(*n) }
func (e events) NotifyUpdate(n *memberlist.Node) { e.set(*n) }

func (e events) set(n memberlist.Node) {
	e.d.mu.Lock()
	e.d.nodes[n.Name] = n
	e.d.mu.Unlock()
	signal(e.d.changed)
}

func (e events) NotifyLeave(n *memberlist.Node) {
	e.d.mu.Lock()
	delete(e.d.nodes, n.Name)
	e.d.mu.Unlock()
	signal(e.d.changed)
}

func (e events) NotifyConflict(existing, other *memberlist.Node) {
	e.d.note(fmt.Sprintf("gossip: two nodes are named %q, at %s and at %s: give each a name of its own",
		existing.Name, existing.Address(), other.Address()))
}
