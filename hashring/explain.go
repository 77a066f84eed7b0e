package hashring

import (
	"fmt"
	"slices"
	"time"
)

// Explanation says who owns a key, and why.
type Explanation struct {
	Slot  int
	Owner string // now
	Final string // when all members have faded in
	Next  string // without the owner; "" if it is alone
	Rings int    // in force
	// Draw is the key's number in [0, 1) among those that move to Final, and
	// Score the share of them that have moved: 1 if nothing moves.
	Draw, Score float64
	Why         string
}

// Explain says who owns a key at a time, and why.
func (r *Rings) Explain(key []byte, now time.Time) Explanation {
	s := r.options.Placement.spot(key)
	in, owner := r.choose(s, now)
	final := r.newest.at(s)
	e := Explanation{
		Slot:  SlotOf(key),
		Owner: in.names[owner],
		Final: r.newest.names[final],
		Rings: r.Count(),
		Score: 1,
	}
	if next := in.next(s, func(member int) bool { return member != owner }); next >= 0 {
		e.Next = in.names[next]
	}
	n := r.joinOf[final]
	if n < 0 {
		e.Why = "no member that fades in is to have it"
		return e
	}
	j := &r.joins[n]
	e.Score = j.score(now, &r.options)
	e.Draw = j.draw(s)
	if r.options.Fade == LikeSkipper {
		e.Draw = r.draw(s)
	}
	verb := "is yet to move"
	if e.Owner == e.Final {
		verb = "has moved"
	}
	e.Why = fmt.Sprintf("it %s to %s, which fades in since %s", verb, e.Final, j.start.UTC().Format(time.RFC3339))
	return e
}

// Moved returns the share of a member's keys that have moved to it: 1 once it
// has faded in, 0 for who owns none.
func (r *Rings) Moved(member string, now time.Time) float64 {
	at := slices.Index(r.newest.names, member)
	switch {
	case at < 0:
		return 0
	case r.joinOf[at] < 0:
		return 1
	}
	return r.joins[r.joinOf[at]].score(now, &r.options)
}

// Count returns how many rings are in force: more than one while members fade
// in. Scale-ups close to each other have one predecessor.
func (r *Rings) Count() int {
	n := 1
	for i, j := range r.joins {
		if !slices.ContainsFunc(r.joins[:i], func(k join) bool { return k.before == j.before }) {
			n++
		}
	}
	return n
}
