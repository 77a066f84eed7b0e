package clock

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// driftPPM is how much two healthy clocks may drift apart: crystal oscillators
// are specified at up to 100 ppm each.
const driftPPM = 200

// Clock is one source's clock as this node knows it. Bounds and Local may be
// called concurrently with everything and take no lock.
type Clock struct {
	local func() time.Duration

	mu  sync.Mutex // one Observe at a time
	est atomic.Pointer[estimate]
}

// estimate says: at local time at, the source's clock stood in [lo, hi].
type estimate struct {
	at     time.Duration
	lo, hi proxy.Time
}

// New returns a clock over a local one, [Boottime] in the product. Until the
// first Observe its bounds are Never and Forever.
func New(local func() time.Duration) *Clock {
	return &Clock{local: local}
}

// Local reads the local clock: what Observe wants before and after a round
// trip.
func (c *Clock) Local() time.Duration { return c.local() }

// Bounds returns the ends of the interval in which the source's clock stands
// now.
func (c *Clock) Bounds() (lo, hi proxy.Time) {
	e := c.est.Load()
	if e == nil {
		return proxy.Never, proxy.Forever
	}
	e = e.after(c.local())
	return e.lo, e.hi
}

// after moves the estimate to a later local time, widened by drift.
func (e *estimate) after(now time.Duration) *estimate {
	passed := max(0, now-e.at)
	drift := passed / (1_000_000 / driftPPM)
	return &estimate{at: now, lo: e.lo.Add(passed - drift), hi: e.hi.Add(passed + drift)}
}

// Observe takes in one round trip: the source read its clock as t at some
// moment between the local times sent and received. It reports a step if the
// new interval does not meet the old one. The clock is then not known until
// the next Observe, so that what was timed by the old clock can be made void
// before anything is judged by the new one.
func (c *Clock) Observe(sent, received time.Duration, t proxy.Time) (stepped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	drift := (received - sent) / (1_000_000 / driftPPM)
	seen := &estimate{at: received, lo: t, hi: t.Add(received - sent + drift)}
	if old := c.est.Load(); old != nil {
		was := old.after(received)
		if was.hi < seen.lo || seen.hi < was.lo {
			c.est.Store(nil)
			return true
		}
		seen.lo, seen.hi = max(seen.lo, was.lo), min(seen.hi, was.hi)
	}
	c.est.Store(seen)
	return false
}
