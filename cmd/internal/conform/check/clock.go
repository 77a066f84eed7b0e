package check

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy"
)

const (
	// driftPPM is what contract 1 grants two healthy clocks.
	driftPPM = 200
	// clockReach is how far from a round trip the source's clock is still
	// known: in a second it may be anywhere.
	clockReach = 30 * time.Second
	// noticeTime is what a node has to notice that a clock was stepped.
	noticeTime = time.Second
)

// span is a stretch of time, ends included.
type span struct{ from, to history.Time }

// sourceClock translates times of the run into times of the source's clock.
type sourceClock struct {
	samples []history.Clock // by At
	steps   []span          // in which a clock was not to be trusted; by from
}

func newSourceClock(samples []history.Clock, faults []span) *sourceClock {
	c := &sourceClock{samples: slices.Clone(samples)}
	for _, f := range faults {
		if f.to != forever {
			f.to = f.to.Add(noticeTime) // who made it may not have waited
		}
		c.steps = append(c.steps, f)
	}
	slices.SortFunc(c.samples, func(a, b history.Clock) int { return cmp.Compare(a.At, b.At) })
	for i := 1; i < len(c.samples); i++ {
		before, after := c.samples[i-1], c.samples[i]
		lo, hi := onwards(before, after.At)
		if after.Hi < lo || after.Lo > hi {
			c.steps = append(c.steps, span{before.At, after.At.Add(noticeTime)})
		}
	}
	slices.SortFunc(c.steps, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return c
}

// onwards is what a sample says about a later or an earlier moment.
func onwards(s history.Clock, t history.Time) (lo, hi proxy.Time) {
	d := t.Sub(s.At)
	drift := max(d, -d) / 1e6 * driftPPM
	return s.Lo.Add(d - drift), s.Hi.Add(d + drift)
}

// at returns between which times the source's clock stood at t. It is not ok
// if no sample is near, or if those before and after t do not agree.
func (c *sourceClock) at(t history.Time) (lo, hi proxy.Time, ok bool) {
	lo, hi = proxy.Never, proxy.Forever
	i := sort.Search(len(c.samples), func(i int) bool { return c.samples[i].At > t })
	for _, s := range c.samples[max(i-1, 0):min(i+1, len(c.samples))] {
		if d := t.Sub(s.At); max(d, -d) > clockReach {
			continue
		}
		l, h := onwards(s, t)
		lo, hi, ok = max(lo, l), min(hi, h), true
	}
	return lo, hi, ok && lo <= hi
}

// stepped reports whether a clock was not to be trusted at some moment from
// one to the other.
func (c *sourceClock) stepped(from, to history.Time) bool {
	return slices.ContainsFunc(c.steps, func(s span) bool { return s.from <= to && s.to >= from })
}
