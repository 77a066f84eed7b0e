package cache

import (
	"fmt"
	"slices"

	"github.com/freshet-cache/freshet/proxy"
)

// violation is a broken check.
type violation struct{ check, what string }

func (v *violation) Error() string { return v.check + ": " + v.what }

func (w *model) fail(check, format string, args ...any) {
	if w.failure == nil {
		w.failure = &violation{check: check, what: fmt.Sprintf(format, args...)}
	}
}

// oneFillPerKey is C9: a fill is sent while no other of its key is under way.
func (w *model) oneFillPerKey(f *modelFill) {
	for _, other := range w.sending {
		if other == f || other.reqs == nil || other.landed {
			continue
		}
		for _, a := range f.flights {
			for _, b := range other.flights {
				if a.key == b.key {
					w.fail("C9", "two fills of %s run at once", a.key)
				}
			}
		}
	}
}

// keptAsAsked: what a fill brought is in memory if a read that shares it wants it
// kept, and nothing has passed it; and not if all are unkept.
func (w *model) keptAsAsked(fs []*flight) {
	for _, f := range fs {
		wanted := f.why == reasonRefresh
		for _, r := range w.reads {
			wanted = wanted || r.pending.waits[0].flight == f && !r.req.Unkept
		}
		passed := f.stamp != w.node.stamps.of(f.hash) || f.epoch != w.node.cases[f.useCase.ID].epoch.Load()
		switch kept := f.kept != nil; {
		case kept && !wanted:
			w.fail("unkept", "%s was kept, and nobody wants that", f.key)
		case wanted && !kept && !passed && f.result.Err == nil:
			w.fail("unkept", "%s was not kept", f.key)
		}
		if !wanted {
			w.stats.unkept++
		}
	}
}

// answered holds an answer against the reference.
func (w *model) answered(r *modelRead) {
	res := &r.result[0]
	if res.Err != nil {
		return
	}
	k := keyNumber(r.req.Key.Text)
	n, ok := parse(res.Row, k)
	w.note("answer %s version %d from %v as-of %d, pos %v", r.req.Key.Text, n, res.Origin, res.AsOf/unit, res.Position)
	if !ok {
		w.fail("C0", "%s answered %q", r.req.Key.Text, text(res.Row))
		return
	}
	if res.Origin == proxy.FromCache {
		w.stats.hits++
		w.checkAge(r)
	}
	w.checkVersion(r, k, n)
}

// checkAge is the promise of ttl_max, and counts the hits that only the
// stream could justify.
func (w *model) checkAge(r *modelRead) {
	u := &w.node.cases[r.req.Key.UseCase.ID]
	e := w.node.find(u, hashOf(r.req.Key.Text), r.req.Key.Text)
	if res := &r.result[0]; e == nil || e.upper != res.Upper || e.position != res.Position {
		return // by now another entry
	}
	if r.invoked-e.asof > modelTTL {
		w.fail("ttl", "%s was a hit %d ticks after its as-of", r.req.Key.Text, (r.invoked-e.asof)/unit)
	}
	if w.now-e.asof > modelBound {
		w.stats.lifted++
	}
}

// checkVersion finds a moment at which version n was the visible one, as every
// check demands it.
func (w *model) checkVersion(r *modelRead, key, n int) {
	bound := modelBound
	switch {
	case r.req.Strong:
		bound = 0
	case r.req.MaxStale > 0:
		bound = proxy.Time(r.req.MaxStale)
	}
	h := w.source.history[key]
	seen, fresh, honest, written := false, false, false, r.least == 0
	for i, v := range h {
		until := proxy.Forever
		if i+1 < len(h) {
			until = h[i+1].visible
		}
		if v.n == r.least {
			written = true
		}
		if v.n != n {
			continue
		}
		seen = true
		fresh = fresh || until > r.invoked-bound
		honest = honest || until > r.result[0].AsOf
		if fresh && honest && written {
			return
		}
	}
	what := fmt.Sprintf("%s answered version %d (%v, as-of %d) to a read of tick %d, strong %v, bound %d; versions %v",
		r.req.Key.Text, n, r.result[0].Origin, r.result[0].AsOf/unit, r.invoked/unit, r.req.Strong, bound/unit, ticks(h))
	switch {
	case !seen:
		w.fail("C1", "%s: it was never visible", what)
	case !fresh && r.req.Strong:
		w.fail("C7", "%s", what)
	case !fresh:
		w.fail("C3", "%s", what)
	case !honest:
		w.fail("C2", "%s", what)
	default:
		w.fail("C5", "%s: version %d was written before", what, r.least)
	}
}

func ticks(h []version) []version {
	out := slices.Clone(h)
	for i := range out {
		out[i].visible /= unit
	}
	return out
}
