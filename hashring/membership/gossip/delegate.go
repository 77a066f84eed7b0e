package gossip

import (
	"fmt"
	"strings"

	"github.com/hashicorp/memberlist"

	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
)

const leaving = hashring.Leaving

// delegate says what travels. memberlist calls it, and events, with its lock
// held: they do not wait and do not call back.
type delegate struct{ d *Directory }

// NodeMeta is this node's record. It fits: its words are bounded, the name
// travels beside it, and whom the node misses stays out where there is no room.
func (g delegate) NodeMeta(limit int) []byte {
	self := *g.d.self.Load()
	self.Name = ""
	record, err := membership.Encode(self)
	for err == nil && len(record) > limit && self.Misses != "" {
		_, self.Misses, _ = strings.Cut(self.Misses, "\n")
		record, err = membership.Encode(self)
	}
	if err != nil {
		return nil // Announce let nothing pass that does not encode
	}
	return record
}

func (delegate) NotifyMsg([]byte)                {}
func (delegate) GetBroadcasts(int, int) [][]byte { return nil }
func (delegate) LocalState(bool) []byte          { return nil }
func (delegate) MergeRemoteState([]byte, bool)   {}

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
