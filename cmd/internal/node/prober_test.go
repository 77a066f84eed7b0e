package node

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/clock"
)

// fakeSource answers probes after rtt, from a clock that is ahead of ours.
type fakeSource struct {
	id    proxy.Identity
	ahead atomic.Int64 // nanoseconds
	rtt   time.Duration
	err   error
}

func (s *fakeSource) Probe(ctx context.Context) (proxy.Identity, proxy.Time, error) {
	t := proxy.Time(time.Now().Add(time.Duration(s.ahead.Load())).UnixNano())
	if !pause.For(ctx, s.rtt) {
		return proxy.Identity{}, proxy.Never, ctx.Err()
	}
	return s.id, t, s.err
}

// fakeStream remembers what it was told.
type fakeStream struct {
	mu    sync.Mutex
	found []proxy.Time
	steps int
	err   error
}

func (s *fakeStream) Found(_ proxy.Identity, sent proxy.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, sent)
	return s.err
}

func (s *fakeStream) ClockStepped() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps++
}

func (s *fakeStream) told() (found []proxy.Time, steps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.found), s.steps
}

// bubbleClock is a local clock that package time drives.
func bubbleClock() *clock.Clock {
	start := time.Now()
	return clock.New(func() time.Duration { return time.Since(start) })
}

func TestProbesFindTheClockAndThePrimary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{id: proxy.Identity{System: 1}, rtt: 10 * time.Millisecond}
		source.ahead.Store(int64(time.Hour))
		stream := &fakeStream{}
		p := &prober{ask: source.Probe, clock: bubbleClock(), stream: stream, steps: stream, every: 50 * time.Millisecond, log: slog.New(slog.DiscardHandler)}
		if p.problem() == "" {
			t.Error("no problem before the first probe")
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.run(ctx) }()
		time.Sleep(155 * time.Millisecond) // probes end at 10, 20, 80, 140
		synctest.Wait()
		found, _ := stream.told()
		if len(found) != 4 || found[0] != proxy.Never || p.problem() != "" {
			t.Fatalf("found %v, problem %q", found, p.problem())
		}
		truth := proxy.Time(time.Now().Add(time.Hour).UnixNano())
		if lo, hi := p.clock.Bounds(); truth < lo || truth > hi || hi.Sub(lo) > 11*time.Millisecond {
			t.Errorf("the clock is in [%d, %d], the truth is %d", lo, hi, truth)
		}
		// What an answer proves, it proves as of the moment of the question.
		if sent := found[3]; sent > truth.Add(-25*time.Millisecond) {
			t.Errorf("the last probe counts as sent at %d, %v ago", sent, truth.Sub(sent))
		}
		source.ahead.Store(int64(2 * time.Hour))
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if _, steps := stream.told(); steps != 1 || p.stepped.Load() != 1 {
			t.Errorf("a step of an hour was told %d times", steps)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestProbesThatFailAreAProblemUntilOneDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{err: errors.New("away")}
		stream := &fakeStream{}
		p := &prober{ask: source.Probe, clock: bubbleClock(), stream: stream, steps: stream, log: slog.New(slog.DiscardHandler)}
		for _, c := range []struct {
			name   string
			source error
			stream error
			rtt    time.Duration
			want   string
		}{
			{"the source is away", errors.New("away"), nil, 0, "source: away"},
			{"it answers", nil, nil, 0, ""},
			{"it is no primary", nil, proxy.ErrNotPrimary, 0, "source: not answered by the current primary"},
			{"it never answers", nil, nil, time.Hour, "source: context deadline exceeded"},
			{"it answers again", nil, nil, 0, ""},
		} {
			source.err, stream.err, source.rtt = c.source, c.stream, c.rtt
			p.report(p.probe(t.Context()))
			if got := p.problem(); got != c.want {
				t.Errorf("%s: problem %q, want %q", c.name, got, c.want)
			}
		}
		if p.failures.Load() != 3 {
			t.Errorf("%d failures counted, want 3", p.failures.Load())
		}
	})
}
