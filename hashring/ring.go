package hashring

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/freshet-cache/freshet/hashring/skipper"
)

// Placement is a way to give keys to members.
type Placement string

const (
	// Rendezvous gives each slot to the member that draws highest for it,
	// within 1.05 of the members' shares. The default.
	Rendezvous Placement = "rendezvous"
	// Consistent gives slots as github.com/buraksezer/consistent v0.10.0 does,
	// over virtual members named NAME/0#, NAME/1# … with xxhash, 100 replicas
	// and load 1.25: for programs that compute owners with that library. Its
	// shares are coarse (doc.go has figures).
	Consistent Placement = "consistent"
	// Skipper gives keys, not slots, as package skipper says.
	Skipper Placement = "skipper"
)

// ring is one placement over one list of members. Immutable.
type ring struct {
	members []Member // that own keys, by name
	names   []string // theirs, close to each other for look-ups
	sum     uint64
	table   *[Slots]uint16 // by slot; nil with Skipper's
	draws   *draws         // says who is next; nil with Skipper's
	points  *skipper.Ring  // Skipper's
}

// spot is where a key lies on all rings: its slot, and the number that decides
// for it where a part of the keys is meant. Keys of one slot have one number,
// where slots have owners: a slot moves as a whole, and a client of a Redis
// Cluster is told so once.
type spot struct {
	slot int
	hash uint64
}

func (p Placement) spot(key []byte) spot {
	if p == Skipper {
		return spot{hash: skipper.Hash(key)}
	}
	return spotOf(SlotOf(key))
}

func spotOf(slot int) spot { return spot{slot, placeOf(slot)} }

// ring places keys over members that [owners] returned.
func (p Placement) ring(members []Member) (*ring, error) {
	r := &ring{members: members, names: make([]string, len(members))}
	for i, m := range members {
		r.names[i] = m.Name
	}
	var err error
	switch p {
	case Rendezvous:
		r.table, r.draws = new([Slots]uint16), drawsOf(members)
		r.draws.place(r.table)
	case Consistent:
		r.table, r.draws = new([Slots]uint16), drawsOf(members)
		err = placeConsistent(members, r.table)
	case Skipper:
		endpoints := make([]skipper.Endpoint, len(members))
		for i, m := range members {
			endpoints[i] = skipper.Endpoint{Address: m.Name, Weight: m.Weight}
		}
		r.points, err = skipper.New(endpoints)
	default:
		err = fmt.Errorf("%q is no placement", p)
	}
	if err != nil {
		return nil, fmt.Errorf("place keys over %d members: %w", len(members), err)
	}
	r.sum = r.checksum(p)
	return r, nil
}

// at returns the member that owns a spot.
func (r *ring) at(s spot) int {
	if r.table != nil {
		return int(r.table[s.slot])
	}
	return r.points.Owner(s.hash)
}

// next returns the first accepted member from a spot on, its owner first, or
// -1 if none is accepted. Without its owner, a spot would be its next member's
// (but for the bounds on what a member holds).
func (r *ring) next(s spot, accept func(member int) bool) int {
	if owner := r.at(s); accept(owner) {
		return owner
	}
	if r.table != nil {
		return r.draws.winner(s.slot, accept)
	}
	return r.points.First(s.hash, accept)
}

// of reports whether the ring is that of members.
func (r *ring) of(members []Member) bool {
	return slices.EqualFunc(r.members, members, func(a, b Member) bool { return a.Name == b.Name && a.Weight == b.Weight })
}

// filter returns the ring's members that are kept.
func (r *ring) filter(keep func(member int) bool) []Member {
	var kept []Member
	for i, m := range r.members {
		if keep(i) {
			kept = append(kept, m)
		}
	}
	return kept
}

// owned counts the slots of a member.
func (r *ring) owned(member string) int {
	n := 0
	if r.table != nil {
		for _, owner := range r.table {
			if r.names[owner] == member {
				n++
			}
		}
	}
	return n
}

// checksum covers all that decides who owns a key: the placement, the members
// with their weights, and the table (which a defect may yet have made another).
func (r *ring) checksum(p Placement) uint64 {
	d := xxhash.New()
	var buf [8]byte
	number := func(n uint64) {
		binary.LittleEndian.PutUint64(buf[:], n)
		d.Write(buf[:])
	}
	d.WriteString(string(p))
	for _, m := range r.members {
		number(uint64(len(m.Name)))
		d.WriteString(m.Name)
		number(uint64(m.Weight))
	}
	if r.table != nil {
		for _, owner := range r.table {
			binary.LittleEndian.PutUint16(buf[:], owner)
			d.Write(buf[:2])
		}
	}
	return d.Sum64()
}
