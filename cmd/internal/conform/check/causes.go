package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// causes is what can have made the nodes fill keys of one use case. It is of
// all nodes together: which of them had a key that another was asked for is
// the tier's own business.
type causes struct {
	keys      uint64 // that were read or written
	writes    uint64 // of them, and of use cases on the same table
	reads     uint64
	strong    uint64
	tokens    uint64 // reads with a token, or in a session
	demanding uint64 // reads with a smaller bound than the use case's
	slow      uint64 // fills that took longer than the bound, which nobody may join to the end
	failed    uint64 // fills
	waited    uint64 // reads that got no answer, or not within the bound
}

func (c *causes) add(o *causes) {
	c.keys += o.keys
	c.writes += o.writes
	c.reads += o.reads
	c.strong += o.strong
	c.tokens += o.tokens
	c.demanding += o.demanding
	c.slow += o.slow
	c.failed += o.failed
	c.waited += o.waited
}

// counted is what all lives of all nodes counted for one use case.
type counted struct {
	history.Counters
	lives     uint64
	evictions uint64
	instead   uint64
}

// countedBy adds up the last counters of each life.
func (w *world) countedBy(u *useCase) (sum counted, last map[life]history.Counters) {
	last = map[life]history.Counters{}
	for _, c := range w.counters { // in order of time
		if c.UseCase == u.Name {
			last[life{c.Node, c.Life, u.id}] = c
		}
	}
	sum.Fills = map[string]uint64{}
	for _, c := range last {
		sum.lives++
		for reason, n := range c.Fills {
			sum.Fills[reason] += n
		}
		sum.Hits += c.Hits
		sum.Joins += c.Joins
		sum.Refused += c.Refused
		sum.Replaced += c.Replaced
		sum.Dropped += c.Dropped
		sum.Voids += c.Voids
		sum.evictions += c.Evictions
		sum.instead += c.Instead
	}
	return sum, last
}

// limit is how often fills may have had one reason, and why.
type limit struct {
	reason string
	most   uint64
	by     string
}

// limits are the most fills that each cause accounts for. Any reason may come
// again without a new cause when the fill before brought nothing that was
// kept, or nothing that its next reader could share: that is again. Where nodes
// were there before the run, the reads tell that, and the first fill of a key at
// each of them may be for what happened then: that is earlier.
func (c *causes) limits(n *counted, run *history.Run, bound, lasted time.Duration, all *causes) []limit {
	again, earlier := c.failed+c.slow, uint64(0)
	if run.Live {
		again, earlier = 2*c.waited, n.lives*c.keys // each at the node that was asked, and at one that it asked
	}
	again += n.Refused + n.evictions + c.strong + c.tokens + c.demanding
	often := func(interval time.Duration) uint64 {
		if interval <= 0 {
			return c.reads
		}
		return n.lives * c.keys * (1 + uint64(lasted/interval))
	}
	return []limit{
		{"cold", n.lives*c.keys + again, "keys, at each start"},
		{"evicted", n.evictions + earlier, "evictions"},
		{"expired", often(bound*9/10) + again, "keys, once per bound"},
		{"changed", n.Dropped + n.Replaced + earlier + again, "changes of cached keys"},
		{"neighbour", 2*all.writes*n.lives + again, "writes"},
		{"epoch", n.Voids*c.keys + earlier + again, "keys, at each void"},
		{"refresh", often(bound*6/10) + again, "keys, once per 0.7 of the bound"},
		{"pinned", c.reads, "reads"},
		{"strong", c.strong, "STRONG reads"},
		{"token", c.tokens, "reads with a token or in a session"},
		{"unkept", n.instead, "reads in the place of another node, or beside it"},
	}
}

// fillsHaveCauses is the half of C9 that is judged by what the nodes counted.
func (t *tally) fillsHaveCauses(lasted time.Duration) {
	if t.w.cutOff() { // reads that were counted may not be there yet
		return
	}
	var all causes
	for i := range t.causes {
		all.add(&t.causes[i])
	}
	for _, u := range t.w.byID {
		sum, last := t.w.countedBy(u)
		if len(last) == 0 {
			continue
		}
		own := &t.causes[u.id]
		t.sumIsExact(u, last)
		t.withinLimits(u, &sum, own.limits(&sum, &t.w.run, u.Bound, lasted, &all))
		t.onePerRead(u, &sum, own)
	}
}

// sumIsExact: where a life of a node ended in peace, it counted as many fills
// as its source saw.
func (t *tally) sumIsExact(u *useCase, last map[life]history.Counters) {
	for l, c := range last {
		if !c.Final || len(t.fills) == 0 { // nobody watched the door
			continue
		}
		t.counts[C9].Judged++
		total := uint64(0)
		for _, n := range c.Fills {
			total += n
		}
		if seen := t.fills[l]; total != seen {
			t.fail(C9, Violation{At: c.At, Node: c.Node, What: fmt.Sprintf("%s: %d fills were counted by reason, and %d reached the source", u.Name, total, seen)})
		}
	}
}

func (t *tally) withinLimits(u *useCase, sum *counted, limits []limit) {
	for reason, n := range sum.Fills {
		if t.w.run.Live && reason == "neighbour" { // of what others write, too
			continue
		}
		t.counts[C9].Judged++
		i := slices.IndexFunc(limits, func(l limit) bool { return l.reason == reason })
		switch {
		case i < 0 && n > 0:
			t.fail(C9, Violation{At: t.w.run.At, What: fmt.Sprintf("%s: %d fills for %q, which is no reason", u.Name, n, reason)})
		case i >= 0 && n > limits[i].most:
			t.fail(C9, Violation{At: t.w.run.At, What: fmt.Sprintf("%s: %d fills for %q, and %s account for %d", u.Name, n, reason, limits[i].by, limits[i].most)})
		}
	}
}

// onePerRead: a read that is no hit makes one fill or shares one; beside that
// only refreshes are made. A read that a node makes in the place of its owner, or
// beside it, may have been made there too; one ahead of clients is nobody's.
func (t *tally) onePerRead(u *useCase, sum *counted, own *causes) {
	t.counts[C9].Judged++
	made := uint64(0)
	for reason, n := range sum.Fills {
		if reason != "refresh" {
			made += n
		}
	}
	if sum.Hits+made > own.reads+sum.instead {
		t.fail(C9, Violation{At: t.w.run.At, What: fmt.Sprintf("%s: %d hits and %d fills for %d reads, and %d that nodes made in the place of others, beside them, or ahead of clients", u.Name, sum.Hits, made, own.reads, sum.instead)})
	}
}
