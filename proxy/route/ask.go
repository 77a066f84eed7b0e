package route

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// ask has a peer answer a group, and answers itself what that does not.
func (r *Route) ask(ctx context.Context, g *group) {
	began := time.Now()
	cancelled, end := context.WithCancelCause(ctx)
	defer end(nil)
	wait := &beside{Context: cancelled, until: began.Add(g.timeout), end: end, done: make(chan struct{})}
	half := time.AfterFunc(g.timeout/2, func() { wait.run(r, g) })
	err := g.peer.Load(wait, g.reqs, g.results)
	if !half.Stop() {
		r.joint(ctx, g, wait, err)
	} else if err == nil {
		r.again(ctx, began, g)
	} else if ctx.Err() == nil {
		r.metrics.add(outcomeOf(err), len(g.reqs))
		r.instead(ctx, began, g.timeout, g.reqs, g.results)
	}
	if err != nil && ctx.Err() != nil { // the caller has left
		for i := range g.results {
			g.results[i] = proxy.Result{Err: ctx.Err()}
		}
	}
}

// outcomeOf says why a peer has answered nothing.
func outcomeOf(err error) outcome {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return outcomeLate
	case errors.Is(err, proxy.ErrShed):
		return outcomeBusy
	case errors.Is(err, proxy.ErrUnknownUseCase), errors.Is(err, proxy.ErrNotPrimary):
		return outcomeRefused
	}
	return outcomeAway
}

// unread reports whether a peer could not read the source, which this node
// perhaps can. What it sheds stays so: the source is not asked elsewhere for what
// is too much for it.
func unread(res *proxy.Result) bool {
	return res.Err != nil && (errors.Is(res.Err, proxy.ErrUnavailable) ||
		errors.Is(res.Err, proxy.ErrNotPrimary) || errors.Is(res.Err, context.DeadlineExceeded))
}

// again asks the own path for what a peer could not read.
func (r *Route) again(ctx context.Context, began time.Time, g *group) {
	var rest part
	for j := range g.results {
		if unread(&g.results[j]) {
			rest.add(j, g.reqs[j])
		}
	}
	r.metrics.add(outcomeForwarded, len(g.reqs)-len(rest.reqs))
	if len(rest.reqs) == 0 {
		return
	}
	r.metrics.add(outcomeRefused, len(rest.reqs))
	r.instead(ctx, began, g.timeout, rest.reqs, rest.results)
	rest.merge(g.results)
}

// errLate is what a read gets whose time was used up by asking others.
var errLate = fmt.Errorf("%w: neither the owner nor the source answered in time", proxy.ErrUnavailable)

// instead answers by the own path, in what is left of the reads' time, and keeps
// nothing but hot keys.
func (r *Route) instead(ctx context.Context, began time.Time, timeout time.Duration, reqs []proxy.Request, results []proxy.Result) {
	wait, cancel := context.WithDeadline(ctx, began.Add(timeout))
	defer cancel()
	r.unkept(wait, reqs, results)
	inWords(ctx, results)
}

func (r *Route) unkept(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	for i := range reqs {
		reqs[i].Unkept = !r.hot.Is(r.hash(reqs[i].Key.Text))
	}
	r.own.Load(ctx, reqs, results)
}

// inWords says of reads whose time is over, and whose callers wait, what that
// means.
func inWords(ctx context.Context, results []proxy.Result) {
	for i := range results {
		if errors.Is(results[i].Err, context.DeadlineExceeded) && ctx.Err() == nil {
			results[i].Err = errLate
		}
	}
}
