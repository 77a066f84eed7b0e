package route

import (
	"context"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// beside is the own path, asked for a group that its owner has not answered in
// half of the time. The owner is waited for all the same, and who is first counts:
//
//  1. a sends a read to its owner b, which has just started: its fill takes more
//     than half of the time, since it connects to the source first
//  2. a asks its own path. It never held the key, and has to connect, too
//  3. b answers. If nobody waits for that, the read fails at the end of its time,
//     and no part was away
//
// It is the context in which the owner is asked: one that has a deadline, and no
// timer for it, since few reads come as far as that.
type beside struct {
	context.Context
	until time.Time // when the reads' time is over
	end   context.CancelCauseFunc

	done    chan struct{} // closed: what follows is set
	results []proxy.Result
	late    *time.Timer // gives the owner up
}

// Deadline implements context.Context.
func (b *beside) Deadline() (time.Time, bool) {
	if sooner, ok := b.Context.Deadline(); ok && sooner.Before(b.until) {
		return sooner, true
	}
	return b.until, true
}

// run asks the own path. If that answers everything, the owner is given up, as
// one that was late; otherwise at the end of the time.
func (b *beside) run(r *Route, g *group) {
	defer close(b.done)
	b.results = make([]proxy.Result, len(g.reqs))
	wait, cancel := context.WithDeadline(b, b.until)
	defer cancel()
	r.unkept(wait, slices.Clone(g.reqs), b.results)
	left := time.Until(b.until)
	if !slices.ContainsFunc(b.results, func(res proxy.Result) bool { return res.Err != nil }) {
		left = 0
	}
	b.late = time.AfterFunc(left, func() { b.end(context.DeadlineExceeded) })
}

// joint takes of each key the owner's answer if there is one, and the own path's
// otherwise. err is the owner's.
func (r *Route) joint(ctx context.Context, g *group, b *beside, err error) {
	missing := func(res proxy.Result) bool { return err != nil || unread(&res) }
	if !slices.ContainsFunc(g.results, missing) {
		b.end(nil)
	}
	<-b.done
	b.late.Stop()
	late := 0
	for i := range g.results {
		if missing(g.results[i]) {
			g.results[i] = b.results[i]
			late++
		}
	}
	r.metrics.add(outcomeLate, late)
	r.metrics.add(outcomeForwarded, len(g.results)-late)
	r.metrics.vain.Add(uint64(len(g.results) - late))
	inWords(ctx, g.results)
}
