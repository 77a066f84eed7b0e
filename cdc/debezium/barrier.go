package debezium

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// Barrier pins what is read while changes may come to be seen that will never
// be told of: those that lie before the position from which a topic is
// followed, or in a hole, and that nobody could see when it was found.
//
//  1. a change is committed: it is in the topic, and no reader sees it yet
//  2. the topic is followed from behind it, and everything is void
//  3. a fill reads the old row, and is installed
//  4. the change is visible; the watermark rises, and with it the entry's as-of
//
// Pinned in 3, the entry lives for the bound and no longer. The barrier is
// raised before everything is void, and what was read before it is raised is
// void then. It falls once a number is known, above those of all transactions
// that may have been missed: a fill that read when they had all ended is as good
// as any. Where nobody can be asked, it falls after the longest time that a
// change takes to become visible.
//
// All its methods may be called concurrently.
type Barrier struct {
	lag    time.Duration // longest time until a change is visible; 0: the primary is asked
	raised chan struct{} // holds a value when the barrier was raised
	fallen atomic.Pointer[fallen]
	pinned atomic.Uint64 // answers
	last   atomic.Int64  // when the last one was, in nanoseconds since the Unix epoch
	raises atomic.Uint64

	mu    sync.Mutex
	times uint64    // how often it was raised
	since time.Time // the last time
}

// fallen is how a barrier fell: for what is read from that time on, or on that
// server when all transactions below that number had ended.
type fallen struct {
	from    time.Time
	of      proxy.Identity
	horizon uint64
}

// NewBarrier returns a barrier that is raised. lag is the longest time from a
// change's record until it is visible, of a source that cannot be asked; 0: a
// Primary is asked.
func NewBarrier(lag time.Duration) *Barrier {
	b := &Barrier{lag: lag, raised: make(chan struct{}, 1)}
	b.Raise()
	return b
}

// Raise is to be called before anything is void whose change may have been
// missed, and after the position from which changes are followed is known.
func (b *Barrier) Raise() {
	b.mu.Lock()
	b.times++
	b.since = time.Now()
	var f *fallen
	if b.lag > 0 {
		f = &fallen{from: b.since.Add(b.lag)}
	}
	b.fallen.Store(f)
	b.mu.Unlock()
	b.raises.Add(1)
	select {
	case b.raised <- struct{}{}:
	default:
	}
}

// wants returns which raise has to be answered by a number that is asked for
// from now on; 0: none.
func (b *Barrier) wants() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fallen.Load() != nil {
		return 0
	}
	return b.times
}

// fall answers a raise, unless there was another since.
func (b *Barrier) fall(times uint64, of proxy.Identity, horizon uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.times == times {
		b.fallen.Store(&fallen{of: of, horizon: horizon})
	}
}

// pins reports for how long answers have been pinned, 0 if none was of late.
func (b *Barrier) pins(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(time.Unix(0, b.last.Load())) > time.Second {
		return 0
	}
	return now.Sub(b.since)
}

// lets reports whether an answer that was asked for at that time is as good as
// any.
func (b *Barrier) lets(sent time.Time, r *proxy.Result) bool {
	f := b.fallen.Load()
	switch {
	case f == nil:
		return false
	case b.lag > 0:
		return !sent.Before(f.from)
	}
	return r.Primary == f.of && r.Horizon >= f.horizon
}

// Stage puts the barrier in front of a source.
func (b *Barrier) Stage(next proxy.Source) proxy.Source { return &barred{Source: next, barrier: b} }

type barred struct {
	proxy.Source
	barrier *Barrier
}

// Load implements proxy.Source. What no primary answered is pinned anyway.
func (s *barred) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	sent := time.Now()
	s.Source.Load(ctx, reqs, results)
	for i := range results {
		r := &results[i]
		if r.Err == nil && r.Primary.Known() && !r.Pinned && !s.barrier.lets(sent, r) {
			r.Pinned = true
			s.barrier.pinned.Add(1)
			s.barrier.last.Store(sent.UnixNano())
		}
	}
}
