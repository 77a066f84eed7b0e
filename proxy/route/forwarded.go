package route

import (
	"context"
	"slices"

	"github.com/freshet-cache/freshet/proxy"
)

// Forwarded is where the requests of other nodes go: to the own path, and never
// on to a third node, however the rings differ.
type Forwarded struct{ r *Route }

// Forwarded returns the end of the own node that peers reach.
func (r *Route) Forwarded() Forwarded { return Forwarded{r} }

// Load answers as a Source does. What another node owns by this one's ring too is
// answered and not kept, unless it is hot here.
func (f Forwarded) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	r, now := f.r, f.r.tier.Now()
	copied := false
	for i := range reqs {
		owner := now.Owner(reqs[i].Key.Text)
		if owner == nil || r.hot.Is(r.hash(reqs[i].Key.Text)) {
			continue
		}
		if !copied { // they are the caller's
			reqs, copied = slices.Clone(reqs), true
		}
		reqs[i].Unkept = true
		r.metrics.misplaced.Add(1)
	}
	if i := r.list.Pick(len(reqs)); i >= 0 {
		r.list.Saw(reqs[i].Key.Text)
	}
	r.own.Load(ctx, reqs, results)
}

// Forget drops what this node keeps of keys: they were written through another
// one.
func (f Forwarded) Forget(keys []proxy.Key) {
	for _, key := range keys {
		f.r.own.Invalidate(key)
	}
}
