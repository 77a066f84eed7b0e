package cache

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// ofReplica reports whether an answer proves its own as-of and nothing more.
func ofReplica(res *proxy.Result) bool {
	return res.Err == nil && res.Pinned && !res.Primary.Known()
}

// bears is how old a replica's answer may be for all that share a flight. A
// primary's is young enough for anybody that a flight was sent for.
//
//  1. a read begins a flight, or comes before it is sent; what it bears is noted
//  2. it is sent; a replica is further behind than that, and the primary is asked
//  3. a read that bears less than its use case comes, in the midst: nobody may have
//     heard of it, and it takes the next
//
// What a read bears is noted before it looks whether the flight is sent. So what
// is noted too late is of a read that finds it sent.
type bears struct{ least atomic.Int64 }

// bearsOf is what one read bears: STRONG no replica.
func bearsOf(u *useCase, f proxy.Freshness) int64 {
	if f.Strong {
		return -1
	}
	return int64(u.boundOf(f))
}

func (b *bears) begin(u *useCase, f proxy.Freshness) {
	b.least.Store(min(int64(u.Bound), bearsOf(u, f)))
}

func (b *bears) note(u *useCase, f proxy.Freshness) {
	for d := bearsOf(u, f); ; {
		least := b.least.Load()
		if d >= least || b.least.CompareAndSwap(least, d) {
			return
		}
	}
}

// suits reports whether a read may share f, which is sent, whoever answers that.
func (f *flight) suits(u *useCase, want proxy.Freshness) bool {
	return !f.useCase.Mapping.Replica || bearsOf(u, want) >= int64(u.Bound)
}

// overtake has the primary answer where a replica is further behind than those who
// wait bear: its delay would be their outage. If the primary cannot, the replica's
// answer stands, for reads that bear more.
func (c *Cache) overtake(ctx context.Context, fs []*flight, reqs []proxy.Request, results []proxy.Result) {
	_, hi := c.clock.Bounds()
	var behind []int
	var again []proxy.Request
	for i, f := range fs {
		if ofReplica(&results[i]) && hi.Sub(results[i].AsOf) > time.Duration(f.bears.least.Load()) {
			c.metrics.overtaken[f.useCase.ID].Inc()
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
	return c.holding(u, e, f.hash, &at) == proxy.Served
}
