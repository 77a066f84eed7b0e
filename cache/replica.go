package cache

import (
	"context"

	"github.com/freshet-cache/freshet/proxy"
)

// ofReplica reports whether an answer proves its own as-of and nothing more.
func ofReplica(res *proxy.Result) bool {
	return res.Err == nil && res.Pinned && !res.Primary.Known()
}

// overtake has the primary answer where a replica is further behind than its use
// case's bound: such an answer could be served to nobody, and the replica's delay
// would be an outage. If the primary cannot, the replica's answer stands, for
// reads that bear more than the use case does.
func (c *Cache) overtake(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	_, hi := c.clock.Bounds()
	var behind []int
	var again []proxy.Request
	for i := range results {
		u := reqs[i].Key.UseCase
		if ofReplica(&results[i]) && hi.Sub(results[i].AsOf) > c.cases[u.ID].Bound {
			c.metrics.overtaken[u.ID].Inc()
			r := reqs[i]
			r.Primary = true
			behind, again = append(behind, i), append(again, r)
		}
	}
	if len(behind) == 0 {
		return
	}
	answers := make([]proxy.Result, len(again))
	c.next.Load(ctx, again, answers)
	for j, i := range behind {
		if answers[j].Err == nil {
			results[i] = answers[j]
		}
	}
}

// holdsLifted reports whether an entry that the watermark lifts, as the primary has
// answered, could still be served: no answer of a replica takes its place. One that
// has left its bound, as the stream stands, or is at the end of its life, makes
// room: reads would go to the replica for ever.
func (c *Cache) holdsLifted(u *useCase, f *flight) bool {
	e := c.find(u, f.hash, []byte(f.key))
	if e == nil || e.pinned {
		return false
	}
	at := c.now()
	why := c.judge(u, e, f.hash, proxy.Freshness{}, &at)
	return why == reasonNone || why == reasonRefresh
}
