package hashring

import "github.com/freshet-cache/freshet/hashring/skipper"

// Bound decides whether a member takes a key, beside owning it.
type Bound interface {
	// Admits reports whether member takes the keys that draw a number in
	// [0, 1).
	Admits(member string, draw float64) bool
}

// Passing is the bound by occupancy: for members that are over it, the share
// of keys that they pass to the next on the ring, as each of them reports
// itself. A member that is not in it passes none.
type Passing map[string]float64

// OccupancyFactor is how far a member's occupancy may be above the mean.
const OccupancyFactor = 1.35

// Admits says that the same keys are passed on as long as the share stands,
// and few others when it changes.
func (p Passing) Admits(member string, draw float64) bool { return draw >= p[member] }

// pass is the draw by which a spot is passed on: not the one by which it fades
// in, or those that moved last would be those that are passed on last.
func (s spot) pass() float64 { return unit(mix(s.hash ^ odd)) }

// Pass returns the share of its keys that a member is to pass on: so many that
// its occupancy, in seconds of work per second over a window, comes down to
// OccupancyFactor times the mean of all members. passed is the share that it
// passed on in that window; without knowing it, a member that came down by
// passing keys on would take all of them back.
func Pass(passed, occupancy, mean float64) float64 {
	limit := OccupancyFactor * mean
	if occupancy <= 0 || limit <= 0 {
		return 0
	}
	return min(max(0, 1-(1-passed)*limit/occupancy), maxPass)
}

// maxPass keeps a member in use, and its occupancy a measure of its keys.
const maxPass = 0.95

// InFlight is the bound by requests in flight, as Skipper has it: a member
// takes a request as long as its count is not above a factor times the mean.
// It looks at one moment, so that keys move with every burst; it stands here
// for comparison.
type InFlight struct {
	counts map[string]int
	limit  float64
}

// InFlightFactor is the factor that goes with InFlight.
const InFlightFactor = 1.10

// NewInFlight makes the bound of the members' requests in flight now, without
// the one that arrives.
func NewInFlight(counts map[string]int, factor float64) InFlight {
	loads := make([]int, 0, len(counts))
	for _, n := range counts {
		loads = append(loads, n)
	}
	return InFlight{counts, skipper.Limit(loads, func(int) bool { return true }, factor)}
}

// Admits does not look at the draw.
func (b InFlight) Admits(member string, _ float64) bool { return float64(b.counts[member]) <= b.limit }
