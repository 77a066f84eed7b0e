package hashring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/buraksezer/consistent"
	"github.com/cespare/xxhash/v2"
)

const (
	// replicas is the number of points per member. With 20 the eleventh
	// member finds shares between 0.76 and 1.25 of the average; 500 takes five
	// times as long to build and gains little.
	replicas = 100
	// maxLoad is the most a member may hold, as a multiple of the average.
	// Tighter (1.05), and a joining member moves 3 to 5 % of all slots between
	// members that it does not concern.
	maxLoad = 1.25
	// maxMembers keeps a build within seconds: the library sorts all points
	// once per member (300 members take half a second, 1,000 six). It also
	// leaves each member 16 slots on average, enough to keep maxLoad.
	maxMembers = 1024
)

// Ring is one placement of all slots. Immutable.
type Ring struct {
	version  uint64
	checksum uint64
	members  []string // sorted
	owners   [Slots]uint16
}

// New places the slots over members, in any order. version is the caller's
// number for this membership; it does not enter the placement. New refuses an
// empty list, an empty name, a name given twice and more than 1,024 members.
func New(version uint64, members []string) (*Ring, error) {
	sorted := slices.Sorted(slices.Values(members))
	if err := check(sorted); err != nil {
		return nil, err
	}
	r := &Ring{version: version, members: sorted}
	if err := r.place(); err != nil {
		return nil, fmt.Errorf("place slots over %d members: %w", len(sorted), err)
	}
	r.checksum = r.sum()
	return r, nil
}

// Version returns the caller's number of this membership.
func (r *Ring) Version() uint64 { return r.version }

// Checksum is equal on nodes that place every slot alike.
func (r *Ring) Checksum() uint64 { return r.checksum }

// Members returns the names, sorted. They must not be changed.
func (r *Ring) Members() []string { return r.members }

// Owner returns the name of the member that owns a slot.
func (r *Ring) Owner(slot int) string { return r.members[r.owners[slot]] }

// Owned returns how many slots a member owns.
func (r *Ring) Owned(member string) int {
	n := 0
	for _, o := range r.owners {
		if r.members[o] == member {
			n++
		}
	}
	return n
}

func check(sorted []string) error {
	if len(sorted) == 0 {
		return errors.New("a ring has at least one member")
	}
	if len(sorted) > maxMembers {
		return fmt.Errorf("a ring has at most %d members, not %d", maxMembers, len(sorted))
	}
	for i, name := range sorted {
		if name == "" {
			return errors.New("a member's name is not empty")
		}
		if i > 0 && name == sorted[i-1] {
			return fmt.Errorf("member %q is named twice", name)
		}
	}
	return nil
}

// place copies the library's table. The library panics where it cannot keep
// its bound, and its Add and Remove hold a lock for milliseconds: so it is
// used once, here, and thrown away.
func (r *Ring) place() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	names := make([]consistent.Member, len(r.members))
	index := make(map[string]uint16, len(r.members))
	for i, name := range r.members {
		names[i] = point(name)
		index[names[i].String()] = uint16(i)
	}
	table := consistent.New(names, consistent.Config{
		Hasher:            hasher{},
		PartitionCount:    Slots,
		ReplicationFactor: replicas,
		Load:              maxLoad,
	})
	for slot := range r.owners {
		r.owners[slot] = index[table.GetPartitionOwner(slot).String()]
	}
	return nil
}

func (r *Ring) sum() uint64 {
	d := xxhash.New()
	var buf [8]byte
	for _, name := range r.members {
		binary.LittleEndian.PutUint64(buf[:], uint64(len(name)))
		d.Write(buf[:])
		d.WriteString(name)
	}
	for _, o := range r.owners {
		binary.LittleEndian.PutUint16(buf[:2], o)
		d.Write(buf[:2])
	}
	return d.Sum64()
}

// point is a member as the library sees it. The library names a member's
// points by appending a decimal number, so "cache-1" and "cache-11" would
// share points and the last one added would win; the "#" keeps them apart,
// whatever the names are.
type point string

func (p point) String() string { return string(p) + "#" }

type hasher struct{}

func (hasher) Sum64(p []byte) uint64 { return xxhash.Sum64(p) }
