package part

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
	"github.com/freshet-cache/freshet/proxy/source/clock"
)

// badClock is a node's clock, which can be made to step.
type badClock struct{ off atomic.Int64 }

func (c *badClock) local() time.Duration { return clock.Boottime() + time.Duration(c.off.Load()) }

// suspended is what the clock makes of a machine that slept for so long:
// nothing, since it counts that.
func (c *badClock) suspended(d time.Duration) {
	if hook.Mutant(hook.ClockSuspends) {
		c.off.Add(-int64(d))
	}
}

// badSource is a node's source, which can be slow or refuse. It writes down
// what it is asked.
type badSource struct {
	proxy.Source
	fills   *fills
	slow    atomic.Int64 // nanoseconds before it is asked
	late    atomic.Int64 // nanoseconds after it has answered a read
	acks    atomic.Int64 // nanoseconds after it has carried out a write
	refuses atomic.Bool
	beyond  atomic.Uint64 // what is added to the positions of what it answers
	clock   atomic.Int64  // nanoseconds that its clock is ahead of this host's
}

func (s *badSource) over(source proxy.Source) proxy.Source {
	s.Source = source
	return s
}

var errRefused = fmt.Errorf("%w: it refuses, as it was told to", proxy.ErrUnavailable)

// Load implements proxy.Source.
func (s *badSource) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	sent := history.Time(clock.Boottime())
	if err := s.hinder(ctx); err != nil {
		for i := range results {
			results[i] = proxy.Result{Err: err}
		}
	} else {
		s.Source.Load(ctx, reqs, results)
		for i := range results { // upper limits: one that is too high refuses more refills
			if results[i].Position.Known() {
				results[i].Position.Commit += s.beyond.Load()
			}
		}
		wait(ctx, &s.late)
	}
	s.fills.note(reqs, results, sent)
}

// Apply implements proxy.Source.
func (s *badSource) Apply(ctx context.Context, writes []proxy.Write, results []proxy.Written) {
	if err := s.hinder(ctx); err != nil {
		for i := range results {
			results[i] = proxy.Written{Err: err}
		}
		return
	}
	s.Source.Apply(ctx, writes, results)
	wait(ctx, &s.acks)
}

func (s *badSource) probing(probe node.Probe) node.Probe {
	return func(ctx context.Context) (proxy.Identity, proxy.Time, error) {
		if err := s.hinder(ctx); err != nil {
			return proxy.Identity{}, proxy.Never, err
		}
		id, t, err := probe(ctx)
		return id, t.Add(time.Duration(s.clock.Load())), err
	}
}

func (s *badSource) hinder(ctx context.Context) error {
	if s.refuses.Load() {
		return errRefused
	}
	if !wait(ctx, &s.slow) {
		return fmt.Errorf("%w: %w", proxy.ErrUnavailable, ctx.Err())
	}
	return nil
}

// wait reports false when ctx ends first. It ends early when there is nothing to
// wait for any more: what is still under way when a run is over would be counted
// by nobody.
func wait(ctx context.Context, nanoseconds *atomic.Int64) bool {
	d := time.Duration(nanoseconds.Load())
	if d == 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-t.C:
			return true
		case <-ctx.Done():
			return false
		case <-look.C:
			if nanoseconds.Load() == 0 {
				return true
			}
		}
	}
}
