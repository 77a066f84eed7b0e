package hashring

import (
	"slices"
	"time"

	"github.com/freshet-cache/freshet/hashring/skipper"
)

// Fade is a rule by which keys move to members that join.
type Fade string

const (
	// Keep gives a key to its owner on the newest ring, or, while that owner
	// fades in and the key's draw is not reached, to its owner among those that
	// were established when the owner joined. A key moves once, and a new
	// member warms only keys that it will keep.
	Keep Fade = "keep"
	// LikeSkipper gives a key to its owner on the newest ring whose joining
	// members' score is above the key's draw, one draw for all rings: what
	// Skipper does with the draw of a request.
	LikeSkipper Fade = "skipper"
)

// steps is the number of scale-ups that a window can hold: members that join
// within a step of it (2 s of 30 s) join together. It bounds how many rings
// are in force.
const steps = 15

// start is when a member began to take keys.
type start struct {
	announced time.Time // by itself; zero if it did not
	at        time.Time
}

// join is a scale-up that fades in.
type join struct {
	start, end time.Time
	before     *ring // has the keys that did not move yet
}

// begin returns the members' starts: as announced, or as known from before, or
// first. An announced start that is not come yet, by this node's clock, is now.
func (r *Rings) begin(members []Member, first, now time.Time) map[string]start {
	starts := make(map[string]start, len(members))
	for _, m := range members {
		known, ok := r.starts[m.Name]
		switch {
		case ok && (m.Joined.IsZero() || m.Joined.Equal(known.announced)):
			starts[m.Name] = known
		case m.Joined.IsZero():
			starts[m.Name] = start{at: first}
		case m.Joined.After(now):
			starts[m.Name] = start{m.Joined, now}
		default:
			starts[m.Name] = start{m.Joined, m.Joined}
		}
	}
	return starts
}

// fade finds the scale-ups that are in progress, from the members' starts
// alone: so a node that is new finds those that the others know. Rings that
// old has are not made again.
func (r *Rings) fade(old *Rings, now time.Time) error {
	r.joinOf = make([]int, len(r.newest.members))
	began := make([]time.Time, len(r.newest.members)) // of each member's scale-up
	for i, m := range r.newest.members {
		r.joinOf[i] = -1
		began[i] = r.starts[m.Name].at
		if r.options.Window > 0 {
			began[i] = began[i].Truncate(max(1, r.options.Window/steps))
		}
	}
	// Who came within a window of the first found nobody who had keys to lose.
	established := slices.MinFunc(began, time.Time.Compare).Add(r.options.Window)
	for _, at := range slices.SortedFunc(slices.Values(began), time.Time.Compare) {
		end := at.Add(r.options.Window)
		if !at.After(established) || !end.After(now) || len(r.joins) > 0 && r.joins[len(r.joins)-1].start.Equal(at) {
			continue
		}
		before, err := r.options.reuse(r.newest.filter(func(member int) bool {
			if r.options.Fade == LikeSkipper {
				return began[member].Before(at)
			}
			return !began[member].After(established) || !began[member].Add(r.options.Window).After(at)
		}), r, old)
		if err != nil {
			return err
		}
		r.joins = append(r.joins, join{at, end, before})
	}
	for i, at := range began {
		r.joinOf[i] = slices.IndexFunc(r.joins, func(j join) bool { return j.start.Equal(at) })
	}
	return nil
}

// kept chooses by the rule Keep.
func (r *Rings) kept(s spot, now time.Time) (*ring, int) {
	owner := r.newest.at(s)
	if n := r.joinOf[owner]; n >= 0 && !r.joins[n].moved(s, now, &r.options) {
		before := r.joins[n].before
		return before, before.at(s)
	}
	return r.newest, owner
}

// draw is the one draw of a spot for all scale-ups.
func (r *Rings) draw(s spot) float64 { return unit(mix(s.hash)) }

// moved reports whether a spot has moved to a member of this scale-up. Each
// draws by itself: which keys move first is no property of the keys.
func (j *join) moved(s spot, now time.Time, o *Options) bool { return j.draw(s) < j.score(now, o) }

func (j *join) draw(s spot) float64 { return unit(mix(s.hash ^ uint64(j.start.UnixNano()))) }

// score is the share of keys that have moved. (At the very moment of its start
// a scale-up has none; an endpoint of Skipper's has all.)
func (j *join) score(now time.Time, o *Options) float64 {
	age := now.Sub(j.start)
	if age <= 0 {
		return 0
	}
	return skipper.Score(age, o.Window, o.Exponent)
}

// nested chooses by the rule LikeSkipper.
func (r *Rings) nested(s spot, now time.Time) *ring {
	in, draw := r.newest, r.draw(s)
	for _, j := range slices.Backward(r.joins) {
		if draw < j.score(now, &r.options) {
			break
		}
		in = j.before
	}
	return in
}
