package hashring

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Options say how a tier places keys. They are to be the same on all nodes.
type Options struct {
	// Placement is the way to give keys to members. Default: Rendezvous.
	Placement Placement
	// Fade is the rule by which keys move to members that join. Default: Keep.
	Fade Fade
	// Window is how long they take to move. 0: they move at once.
	Window time.Duration
	// Exponent bends the curve: after a part p of the window, p^Exponent of
	// the keys have moved. Default: 2.5 (10 % after 40 % of the window, 41 %
	// after 70 %).
	Exponent float64
}

// Rings is all placements in force at once: the newest, and those that members
// which fade in have yet to take keys from. Immutable.
type Rings struct {
	options Options
	version uint64
	members []Member // all, by name
	starts  map[string]start
	newest  *ring
	joins   []join // in progress, oldest first
	joinOf  []int  // of each member of the newest ring; -1: none
}

// New places keys over members, in any order. version is the caller's number
// for this membership. A member that does not say when it joined is taken for
// one that was there before.
//
// New refuses an empty list, names and weights outside the limits of [Member],
// a name given twice, more than 1,024 members that own keys and weights of
// more than 4,096 together.
func New(o Options, version uint64, members []Member, now time.Time) (*Rings, error) {
	o.Placement = or(o.Placement, Rendezvous)
	o.Fade = or(o.Fade, Keep)
	o.Exponent = or(o.Exponent, 2.5)
	switch {
	case o.Fade != Keep && o.Fade != LikeSkipper:
		return nil, fmt.Errorf("%q is no way to fade in", o.Fade)
	case o.Window < 0:
		return nil, errors.New("a window is not below 0")
	case !(o.Exponent > 0):
		return nil, errors.New("an exponent is above 0")
	}
	return (&Rings{options: o}).follow(version, members, time.Time{}, now)
}

// Next returns the rings of another list of members. Members that are gone, or
// own nothing any more, leave all rings at once; members that are new, and did
// not say when they joined, join now.
func (r *Rings) Next(version uint64, members []Member, now time.Time) (*Rings, error) {
	return r.follow(version, members, now, now)
}

// Settle returns the rings without those whose successors have faded in. They
// place keys as r does, and free memory; r itself if there are none.
func (r *Rings) Settle(now time.Time) *Rings {
	if len(r.joins) == 0 || now.Before(r.joins[0].end) {
		return r
	}
	settled, err := r.follow(r.version, r.members, now, now)
	if err != nil {
		return r // it was made of these members before
	}
	return settled
}

// Settled returns when Settle has something to do: zero if never.
func (r *Rings) Settled() time.Time {
	if len(r.joins) == 0 {
		return time.Time{}
	}
	return r.joins[0].end
}

// Version returns the caller's number of this membership.
func (r *Rings) Version() uint64 { return r.version }

// Checksum is equal on nodes that give every key to the same member in the
// end. It does not cover what fades in.
func (r *Rings) Checksum() uint64 { return r.newest.sum }

// Members returns all members, by name. They must not be changed.
func (r *Rings) Members() []Member { return r.members }

// Owned returns how many slots a member owns in the end: none where keys have
// owners and slots have not.
func (r *Rings) Owned(member string) int { return r.newest.owned(member) }

// Owner returns the name of the member that owns a key.
func (r *Rings) Owner(key []byte, now time.Time) string {
	ring, owner := r.choose(r.options.Placement.spot(key), now)
	return ring.names[owner]
}

// OwnerOfSlot returns the name of the member that owns all keys of a slot, or
// "" with the placement [Skipper], where they have several owners.
func (r *Rings) OwnerOfSlot(slot int, now time.Time) string {
	if r.options.Placement == Skipper {
		return ""
	}
	ring, owner := r.choose(spotOf(slot), now)
	return ring.names[owner]
}

// OwnerUnder is Owner, passing over members that a bound does not admit. Where
// it admits nobody, the owner has the key.
func (r *Rings) OwnerUnder(bound Bound, key []byte, now time.Time) string {
	s := r.options.Placement.spot(key)
	ring, owner := r.choose(s, now)
	draw := s.pass()
	if bound.Admits(ring.names[owner], draw) {
		return ring.names[owner]
	}
	next := ring.next(s, func(member int) bool { return bound.Admits(ring.names[member], draw) })
	if next < 0 {
		next = owner
	}
	return ring.names[next]
}

// choose returns the ring in force for a spot, and the member that owns the
// spot on it.
func (r *Rings) choose(s spot, now time.Time) (*ring, int) {
	if len(r.joins) == 0 {
		return r.newest, r.newest.at(s)
	}
	if r.options.Fade == LikeSkipper {
		in := r.nested(s, now)
		return in, in.at(s)
	}
	return r.kept(s, now)
}

// follow makes the rings of a list of members. A member without a start that
// was not there before joins at first.
func (r *Rings) follow(version uint64, members []Member, first, now time.Time) (*Rings, error) {
	owning, err := owners(members)
	if err != nil {
		return nil, err
	}
	next := &Rings{
		options: r.options,
		version: version,
		members: slices.SortedFunc(slices.Values(members), byName),
		starts:  r.begin(owning, first, now),
	}
	if next.newest, err = r.options.reuse(owning, r); err != nil {
		return nil, err
	}
	return next, next.fade(r, now)
}

// reuse returns the ring of members, which may stand in one of those.
func (o *Options) reuse(members []Member, among ...*Rings) (*ring, error) {
	for _, r := range among {
		if r.newest != nil && r.newest.of(members) {
			return r.newest, nil
		}
		for _, j := range r.joins {
			if j.before.of(members) {
				return j.before, nil
			}
		}
	}
	return o.Placement.ring(members)
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
