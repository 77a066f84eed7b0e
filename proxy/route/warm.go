package route

import (
	"context"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// warmBatch is how many keys Warm reads together.
const warmBatch = 16

// Warm fills the cache with keys that this node is to own soon: it reads them by
// the own path, at most perSecond of them a second, and returns how many it has
// filled when all are read or ctx ends. Each list is one old owner's, hottest
// first; they take turns. What is no key here is passed over, and so is what two
// lists have: both old owners keep a key that is hot.
func (r *Route) Warm(ctx context.Context, perSecond int, lists ...[][]byte) (filled int) {
	reqs := make([]proxy.Request, 0, warmBatch)
	results := make([]proxy.Result, warmBatch)
	pace := time.NewTimer(0)
	defer pace.Stop()
	for keys := r.inTurn(lists); ; {
		reqs = reqs[:0]
		for len(reqs) < warmBatch && len(keys) > 0 {
			reqs = append(reqs, proxy.Request{Key: keys[0]})
			keys = keys[1:]
		}
		if len(reqs) == 0 {
			return filled
		}
		select {
		case <-ctx.Done():
			return filled
		case <-pace.C:
			pace.Reset(time.Duration(len(reqs)) * time.Second / time.Duration(perSecond))
		}
		r.metrics.warmed.Add(uint64(len(reqs)))
		r.own.Load(ctx, reqs, results[:len(reqs)])
		for _, res := range results[:len(reqs)] {
			if res.Err == nil && res.Origin == proxy.FromFill {
				filled++
			}
		}
	}
}

// inTurn takes the first of every list, then the second of every list, and so
// on, each key once.
func (r *Route) inTurn(lists [][][]byte) (keys []proxy.Key) {
	taken := map[string]bool{}
	for i, more := 0, true; more; i++ {
		more = false
		for _, list := range lists {
			if i >= len(list) {
				continue
			}
			more = true
			key, err := r.catalog.Key(list[i])
			if err == nil && !taken[string(list[i])] {
				taken[string(list[i])] = true
				keys = append(keys, key)
			}
		}
	}
	return keys
}
