package clock

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// local is a clock of this node that is set by hand.
type local struct{ now time.Duration }

func (l *local) read() time.Duration { return l.now }

func TestUnread(t *testing.T) {
	c := New((&local{}).read)
	if lo, hi := c.Bounds(); lo != proxy.Never || hi != proxy.Forever {
		t.Errorf("bounds %d and %d", lo, hi)
	}
}

const ms = time.Millisecond

func TestObserve(t *testing.T) {
	type trip struct {
		sent, received time.Duration
		told           proxy.Time
		stepped        bool
	}
	const base = proxy.Time(1e18)
	at := func(d time.Duration) proxy.Time { return base.Add(d) }
	unknown := []time.Duration{proxy.Never.Sub(base), proxy.Forever.Sub(base)}
	cases := []struct {
		name   string
		trips  []trip
		now    time.Duration
		lo, hi time.Duration // beyond base
	}{
		{"one round trip", []trip{{0, 10 * ms, at(0), false}},
			10 * ms, 0, 10*ms + 2*time.Microsecond},
		{"drift widens it, 200 ppm at both ends", []trip{{0, 10 * ms, at(0), false}},
			10*ms + time.Second, time.Second - 200*time.Microsecond, time.Second + 10*ms + 202*time.Microsecond},
		{"a trip that was fast narrows it", []trip{{0, 100 * ms, at(0), false}, {100 * ms, 101 * ms, at(50 * ms), false}},
			101 * ms, 50 * ms, 51*ms + 200},
		{"a trip that was slow does not widen it", []trip{{0, ms, at(0), false}, {ms, 201 * ms, at(50 * ms), false}},
			201 * ms, 200*ms - 40*time.Microsecond, 201*ms + 40*time.Microsecond + 200},
		{"two halves leave what they have in common", []trip{{0, 10 * ms, at(0), false}, {10 * ms, 20 * ms, at(18 * ms), false}},
			20 * ms, 18 * ms, 20*ms + 4*time.Microsecond},
		{"a step forward", []trip{{0, ms, at(0), false}, {ms, 2 * ms, at(time.Hour), true}},
			2 * ms, unknown[0], unknown[1]},
		{"a step back", []trip{{0, ms, at(time.Hour), false}, {ms, 2 * ms, at(0), true}},
			2 * ms, unknown[0], unknown[1]},
		{"after a step it starts anew", []trip{{0, ms, at(time.Hour), false}, {ms, 2 * ms, at(0), true}, {2 * ms, 3 * ms, at(ms), false}},
			3 * ms, ms, 2*ms + 200},
		{"drift within 200 ppm is no step", []trip{{0, 0, at(0), false}, {1000 * time.Second, 1000 * time.Second, at(1000*time.Second + 199*ms), false},
			{2000 * time.Second, 2000 * time.Second, at(2000 * time.Second), false}},
			2000 * time.Second, 2000 * time.Second, 2000 * time.Second},
		{"drift beyond it is", []trip{{0, 0, at(0), false}, {1000 * time.Second, 1000 * time.Second, at(1000*time.Second + 201*ms), true}},
			1000 * time.Second, unknown[0], unknown[1]},
		{"asked in the past it does not go back", []trip{{5 * ms, 10 * ms, at(0), false}},
			0, 0, 5*ms + time.Microsecond},
	}
	for _, tc := range cases {
		l := &local{}
		c := New(l.read)
		for i, trip := range tc.trips {
			if got := c.Observe(trip.sent, trip.received, trip.told); got != trip.stepped {
				t.Errorf("%s: trip %d: stepped %t", tc.name, i, got)
			}
		}
		l.now = tc.now
		lo, hi := c.Bounds()
		if got := lo.Sub(base); got != tc.lo {
			t.Errorf("%s: lower end %s, want %s", tc.name, got, tc.lo)
		}
		if got := hi.Sub(base); got != tc.hi {
			t.Errorf("%s: upper end %s, want %s", tc.name, got, tc.hi)
		}
	}
}

// remote is a source's clock: it drifts against the local one, and is read
// somewhere within a round trip.
type remote struct {
	offset time.Duration
	ppm    int64
}

func (r remote) at(local time.Duration) proxy.Time {
	return proxy.Time(r.offset + local + time.Duration(int64(local/time.Microsecond)*r.ppm/1000))
}

// Whatever the round trips and the drift, the source's clock lies within the
// bounds, and nothing is taken for a step.
func TestBoundsHold(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		l := &local{}
		c := New(l.read)
		src := remote{offset: time.Duration(rng.Int64N(1e18)), ppm: rng.Int64N(397) - 198}
		for i := range 100 {
			sent := l.now
			l.now += time.Duration(rng.Int64N(int64(50 * ms)))
			told := src.at(l.now)
			l.now += time.Duration(rng.Int64N(int64(50 * ms)))
			if c.Observe(sent, l.now, told) {
				t.Fatalf("seed %d, trip %d: a step, with %d ppm", seed, i, src.ppm)
			}
			l.now += time.Duration(rng.Int64N(int64(time.Minute)))
			if lo, hi := c.Bounds(); src.at(l.now) < lo || src.at(l.now) > hi {
				t.Fatalf("seed %d, trip %d: %d is not within %d and %d", seed, i, src.at(l.now), lo, hi)
			}
		}
	}
}

// A step that is larger than the interval is wide is seen at the next trip.
func TestStepsAreSeen(t *testing.T) {
	for _, step := range []time.Duration{time.Second, -time.Second, 30 * ms, -30 * ms, time.Hour, -time.Hour} {
		l := &local{}
		c := New(l.read)
		src := remote{offset: time.Hour * 1e5}
		observe := func() bool {
			sent := l.now
			l.now += 5 * ms
			told := src.at(l.now)
			l.now += 5 * ms
			return c.Observe(sent, l.now, told)
		}
		for range 3 {
			if observe() {
				t.Fatal("a step before the step")
			}
			l.now += time.Second
		}
		src.offset += step
		if !observe() {
			t.Errorf("a step of %s was not seen", step)
		}
		if lo, hi := c.Bounds(); lo != proxy.Never || hi != proxy.Forever {
			t.Errorf("after a step of %s the clock is known before anything is void", step)
		}
		if observe() {
			t.Errorf("a step of %s was seen twice", step)
		}
		if lo, hi := c.Bounds(); src.at(l.now) < lo || src.at(l.now) > hi {
			t.Errorf("after a step of %s the bounds are of before", step)
		}
	}
}

// The machine sleeps for an hour. A local clock that counts it keeps the
// bounds true; one that does not shows an hour too little, and the next trip
// takes that for a step.
func TestSuspended(t *testing.T) {
	for _, counts := range []bool{true, false} {
		l := &local{}
		c := New(l.read)
		src := remote{offset: time.Hour * 1e5}
		c.Observe(0, 0, src.at(0))
		truth := time.Hour // what really passed
		if counts {
			l.now = truth
		}
		lo, hi := c.Bounds()
		if within := lo <= src.at(truth) && src.at(truth) <= hi; within != counts {
			t.Errorf("counts suspended time: %t, source's clock within bounds: %t", counts, within)
		}
		if stepped := c.Observe(l.now, l.now, src.at(truth)); stepped == counts {
			t.Errorf("counts suspended time: %t, stepped: %t", counts, stepped)
		}
	}
}

// In a bubble package time is the local clock.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := New(func() time.Duration { return time.Since(start) })
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				for range 100 {
					sent := c.Local()
					time.Sleep(3 * ms)
					told := proxy.Time(time.Now().UnixNano())
					time.Sleep(2 * ms)
					if c.Observe(sent, c.Local(), told) {
						t.Error("a step")
					}
					time.Sleep(time.Second)
					now := proxy.Time(time.Now().UnixNano())
					if lo, hi := c.Bounds(); now < lo || now > hi {
						t.Errorf("%d is not within %d and %d", now, lo, hi)
					} else if width := hi.Sub(lo); width > 7*ms {
						t.Errorf("the interval is %s wide", width)
					}
				}
			})
		}
		all.Wait()
	})
}

func TestBoundsTakeNoMemory(t *testing.T) {
	c := New(Boottime)
	c.Observe(c.Local(), c.Local(), 1)
	if n := testing.AllocsPerRun(100, func() { c.Bounds() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkBounds(b *testing.B) {
	c := New(Boottime)
	c.Observe(c.Local(), c.Local(), 1)
	b.ReportAllocs()
	for b.Loop() {
		c.Bounds()
	}
}
