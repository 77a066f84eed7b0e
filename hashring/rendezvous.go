package hashring

import (
	"math"

	"github.com/cespare/xxhash/v2"
)

// loadPercent bounds a member's slots, in percent of its share and rounded up.
// 102 would even out 100 members a little more, and move twice as much between
// members that a change does not concern; over 125 the bound never binds.
const loadPercent = 105

// draws ranks members for slots: rendezvous hashing (Thaler, Ravishankar). A
// member draws a number for each slot and each of its virtual members, and the
// highest wins; without it, the next highest. So a joining member takes slots
// from all and moves nothing between them, a leaving one leaves its slots to
// all, and a weight is a number of draws. Only integers are compared: every
// machine finds the same winner.
type draws struct {
	seeds []uint64 // of all virtual members, in the order of their members
	ends  []int    // where the seeds of each member end
}

func drawsOf(members []Member) *draws {
	d := &draws{ends: make([]int, len(members))}
	for i, m := range members {
		seed := xxhash.Sum64String(m.Name)
		for v := range m.Weight {
			d.seeds = append(d.seeds, mix(seed+uint64(v)*odd))
		}
		d.ends[i] = len(d.seeds)
	}
	return d
}

// winner returns the accepted member with the highest draw for a slot, or -1.
// Of equal draws the first in the list of members wins.
func (d *draws) winner(slot int, accept func(member int) bool) int {
	place := placeOf(slot)
	best, highest, from := -1, uint64(0), 0
	for member, end := range d.ends {
		seeds := d.seeds[from:end]
		from = end
		if !accept(member) {
			continue
		}
		for _, seed := range seeds {
			if draw := mix(seed ^ place); draw > highest || best < 0 {
				best, highest = member, draw
			}
		}
	}
	return best
}

// place gives each slot to its winner among the members that are not full.
// (That bound is the one of consistent hashing with bounded loads: Mirrokni,
// Thorup, Zadimoghaddam.)
func (d *draws) place(owners *[Slots]uint16) {
	held, most := make([]int, len(d.ends)), d.most()
	for slot := range owners {
		w := d.winner(slot, func(member int) bool { return held[member] < most[member] })
		held[w]++
		owners[slot] = uint16(w)
	}
}

// most returns how many slots each member may hold.
func (d *draws) most() []int {
	most, total, from := make([]int, len(d.ends)), len(d.seeds), 0
	for i, end := range d.ends {
		part := Slots * (end - from) * loadPercent
		most[i], from = (part+100*total-1)/(100*total), end
	}
	return most
}

// odd is 2⁶⁴ divided by the golden ratio: its multiples lie far from each
// other.
const odd = 0x9e3779b97f4a7c15

// placeOf spreads the numbers of slots over 64 bits.
func placeOf(slot int) uint64 { return mix(uint64(slot+1) * odd) }

// mix is the finishing step of SplitMix64 (Steele, Lea, Flood): each bit of x
// changes each bit of the result with a chance of one half.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit makes a number in [0, 1) of 64 bits.
func unit(x uint64) float64 { return math.Ldexp(float64(x>>11), -53) }
