package route

import (
	"context"
	"slices"

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
type beside struct {
	done    chan struct{} // closed: what follows is set
	results []proxy.Result
}

// run asks the own path. If that answers everything, the owner is given up, as
// one that was late.
func (b *beside) run(r *Route, ctx context.Context, end context.CancelCauseFunc, g *group) {
	defer close(b.done)
	b.results = make([]proxy.Result, len(g.reqs))
	r.unkept(ctx, slices.Clone(g.reqs), b.results)
	if !slices.ContainsFunc(b.results, func(res proxy.Result) bool { return res.Err != nil }) {
		end(context.DeadlineExceeded)
	}
}

// joint takes of each key the owner's answer if there is one, and the own path's
// otherwise. err is the owner's.
func (r *Route) joint(ctx context.Context, end context.CancelCauseFunc, g *group, b *beside, err error) {
	missing := func(res proxy.Result) bool { return err != nil || unread(&res) }
	if !slices.ContainsFunc(g.results, missing) {
		end(nil)
	}
	<-b.done
	late := 0
	for i := range g.results {
		if missing(g.results[i]) {
			g.results[i] = b.results[i]
			late++
		}
	}
	r.metrics.add(outcomeLate, late)
	r.metrics.add(outcomeForwarded, len(g.results)-late)
	inWords(ctx, g.results)
}
