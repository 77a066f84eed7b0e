package audit

import (
	"container/heap"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// within names the times within which changes are to be consistent.
type within uint8

const (
	withinBound within = iota // the use case's bound, and the slack
	within1s
	within5s
	within1m
	within5m
	within10m
	withins
)

var (
	withinNames = [withins]string{"bound", "1s", "5s", "1m", "5m", "10m"}
	withinTimes = [withins]time.Duration{0, time.Second, 5 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute}
)

// look is a time after a change at which it is looked at.
type look struct {
	within within
	after  time.Duration
}

// schedule returns the looks at a change of a use case, in order.
func schedule(bound time.Duration) []look {
	looks := []look{{withinBound, bound}}
	for w := within1s; w < withins; w++ {
		looks = append(looks, look{w, withinTimes[w]})
	}
	slices.SortStableFunc(looks, func(a, b look) int { return int(a.after - b.after) })
	return looks
}

// pending are the changes that wait, the one that is due first in front: a
// heap.
type pending []*sample

func (p pending) Len() int           { return len(p) }
func (p pending) Less(i, j int) bool { return p[i].due < p[j].due }
func (p pending) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }

// Push implements heap.Interface.
func (p *pending) Push(s any) { *p = append(*p, s.(*sample)) }

// Pop implements heap.Interface.
func (p *pending) Pop() any {
	last := len(*p) - 1
	s := (*p)[last]
	(*p)[last] = nil
	*p = (*p)[:last]
	return s
}

// add waits for the next look at s, if there is one.
func (p *pending) add(s *sample) {
	if len(s.looks) > 0 {
		s.due = s.since.Add(s.looks[0].after)
		heap.Push(p, s)
	}
}

// next takes out a sample that is due, or returns nil.
func (p *pending) next(now proxy.Time) *sample {
	if len(*p) == 0 || (*p)[0].due > now {
		return nil
	}
	return heap.Pop(p).(*sample)
}

// consistent counts a change that was found consistent now, for all looks from
// now on. Those before it were missed (late), or stood under suspicion: then the
// change was not consistent within their time.
func (a *Auditor) consistent(s *sample, suspected bool) {
	missed := outcomeLate
	if suspected {
		missed = outcomeInconsistent
	}
	elapsed := a.now.Sub(s.since)
	for _, l := range s.looks {
		if elapsed <= l.after+a.opts.Slack {
			a.metrics.change(s, l.within, outcomeConsistent)
		} else {
			a.metrics.change(s, l.within, missed)
		}
	}
	s.looks = nil
}

// inconsistent counts a change that has led to a violation, for all looks until
// now; later ones follow.
func (a *Auditor) inconsistent(s *sample) {
	elapsed := a.now.Sub(s.since)
	for len(s.looks) > 0 && s.looks[0].after <= elapsed {
		a.metrics.change(s, s.looks[0].within, outcomeInconsistent)
		s.looks = s.looks[1:]
	}
	a.pending.add(s)
}
