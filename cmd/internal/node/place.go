package node

import (
	"fmt"
	"time"

	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
	"github.com/freshet-cache/freshet/proxy/peer"
	"github.com/freshet-cache/freshet/proxy/route"
)

// placement says who owns a key by one view of the tier. Immutable.
type placement struct {
	view  *membership.View
	fades bool                  // some members take their keys over a time that is not over
	peers map[string]*peer.Peer // by name, without this node
}

// Owner implements route.Placement. A member that is not among the peers is
// this node.
func (p *placement) Owner(key []byte) route.Peer {
	var now time.Time // does not count once all have faded in
	if p.fades {
		now = time.Now()
	}
	var name string
	if len(p.view.Passing) == 0 {
		name = p.view.Rings.Owner(key, now)
	} else {
		name = p.view.Rings.OwnerUnder(p.view.Passing, key, now)
	}
	if to := p.peers[name]; to != nil {
		return to
	}
	return nil
}

// Now implements route.Tier.
func (t *tier) Now() route.Placement { return t.place.Load() }

// took makes a view that of now: the way to its members, and who owns what.
func (t *tier) took(v *membership.View) {
	p := &placement{view: v, fades: !v.Rings.Settled().IsZero(), peers: map[string]*peer.Peer{}}
	keep := t.asker.asked(time.Now())
	for _, m := range v.Peers {
		if m.Name != t.name {
			p.peers[m.Name] = t.pool.To(m.Name, m.Address)
			keep = append(keep, m.Address)
		}
	}
	t.pool.Keep(keep)
	t.place.Store(p)
}

// reach implements ways.
func (t *tier) reach(member string) (r reach) {
	if to := t.place.Load().peers[member]; to != nil {
		r.lost, r.doubted = to.Lost(), to.Doubted()
	}
	return r
}

// changes implements ways.
func (t *tier) changes() uint64 { return t.pool.Changes() }

// explain says who owns a key at a time, and why.
func (t *tier) explain(key []byte, now time.Time) hashring.Explanation {
	view := t.membership.View()
	e := view.Rings.Explain(key, now)
	if under := view.Rings.OwnerUnder(view.Passing, key, now); under != e.Owner {
		e.Why += fmt.Sprintf("; %s passes it on, since the others have less to do", e.Owner)
		e.Owner = under
	}
	return e
}

// ring is the table of owners as peers are told of it.
func (t *tier) ring() (version, checksum uint64) {
	p := t.place.Load()
	if p == nil {
		return 0, 0
	}
	return p.view.Rings.Version(), p.view.Rings.Checksum()
}
