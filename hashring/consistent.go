package hashring

import (
	"fmt"

	"github.com/buraksezer/consistent"
	"github.com/cespare/xxhash/v2"
)

const (
	// replicas is the number of points of a virtual member. More would even
	// out the shares, but the library sorts all points once per virtual
	// member: 100 take 100 of them 85 ms, and 1,000 of them six seconds.
	replicas = 100
	// maxLoad is the most a virtual member may hold, as a multiple of the
	// average. Tighter (1.05), and a joining member moves 3 to 5 % of all
	// slots between members that it does not concern.
	maxLoad = 1.25
	// maxVirtual keeps a build within seconds, and leaves each virtual member
	// 16 slots, enough to keep maxLoad.
	maxVirtual = 1024
)

// placeConsistent copies the table of the library consistent. The library
// panics where it cannot keep its bound, and its Add and Remove hold a lock
// for milliseconds: so it is used once, here, and thrown away.
func placeConsistent(members []Member, owners *[Slots]uint16) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	var virtual []consistent.Member
	for i, m := range members {
		for v := range m.Weight {
			virtual = append(virtual, point{fmt.Sprintf("%s/%d#", m.Name, v), uint16(i)})
		}
	}
	if len(virtual) > maxVirtual {
		return fmt.Errorf("%d virtual members: this placement has at most %d; lower the weights", len(virtual), maxVirtual)
	}
	table := consistent.New(virtual, consistent.Config{
		Hasher:            hasher{},
		PartitionCount:    Slots,
		ReplicationFactor: replicas,
		Load:              maxLoad,
	})
	for slot := range owners {
		owners[slot] = table.GetPartitionOwner(slot).(point).owner
	}
	return nil
}

// point is a virtual member as the library sees it. The library names its
// points by appending a decimal number, so "cache-1" and "cache-11" would
// share points and the last one added would win; the "#" keeps them apart,
// whatever the names are.
type point struct {
	name  string
	owner uint16
}

func (p point) String() string { return p.name }

type hasher struct{}

func (hasher) Sum64(p []byte) uint64 { return xxhash.Sum64(p) }
