package membership

import (
	"context"
	"slices"

	"github.com/freshet-cache/freshet/hashring"
)

// Peer is a member of a tier with what others need to know of it beside its
// place on the rings.
type Peer struct {
	hashring.Member
	// Address is where other nodes reach it, HOST:PORT.
	Address string
	// Clients is where clients of Redis reach it, and Redirects the one of its
	// listeners that sends them to a key's owner; empty if it has none. A node
	// that leaves out the host in what it says of itself is at the one where it
	// was found.
	Clients, Redirects string
	// Version is that of its build, for people.
	Version string
	// Occupancy is its work in seconds per second, as it measured itself; 0 if
	// its directory does not carry that.
	Occupancy float64
	// Pass is the share of its keys that it passes to the next on the ring.
	Pass float64
	// Degraded says that it is not all that it can be: it may not hear of
	// changes, or not reach the source. It serves within its bounds all the same,
	// so nothing moves for that.
	Degraded bool
	// Instance tells one process from another that has its name.
	Instance uint64
	// Known says to the one who is told so that it had keys before: one that
	// starts again learns by it that it was never gone.
	Known bool
}

// Directory finds the members of a tier.
type Directory interface {
	// Run tells all peers, this node among them or not, whenever they may have
	// changed, and returns when ctx ends. Where it cannot find them it tells
	// why, with no peers, and goes on trying; with peers, an error says what is
	// wrong although they are to be taken.
	Run(ctx context.Context, tell func([]Peer, error)) error
}

// View is a tier as this node sees it. Immutable.
type View struct {
	Rings *hashring.Rings
	Peers []Peer // by name
	// Passing is what overloaded peers pass on.
	Passing hashring.Passing
	// Problem says why the view may be old, or what else is wrong.
	Problem error
}

// Peer returns the peer of a name.
func (v *View) Peer(name string) (Peer, bool) {
	for _, p := range v.Peers {
		if p.Name == name {
			return p, true
		}
	}
	return Peer{}, false
}

// Known reports whether others say that this node had keys before.
func (v *View) Known() bool {
	return slices.ContainsFunc(v.Peers, func(p Peer) bool { return p.Known })
}

// Owns reports whether the member of a name has keys, or may come back to
// them.
func (v *View) Owns(name string) bool {
	p, there := v.Peer(name)
	return there && owned(p)
}
