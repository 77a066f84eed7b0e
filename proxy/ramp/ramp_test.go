package ramp

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// database is one that collapses: up to width loads at once take base each;
// with more, each takes longer by the square, so that less is done the more is
// asked.
type database struct {
	width int
	base  time.Duration

	running, most atomic.Int64
	done          atomic.Int64
	err           atomic.Pointer[error]
}

func (d *database) Load(ctx context.Context, _ []proxy.Request, results []proxy.Result) {
	n := d.running.Add(1)
	defer d.running.Add(-1)
	for most := d.most.Load(); n > most && !d.most.CompareAndSwap(most, n); most = d.most.Load() {
	}
	if err := d.err.Load(); err != nil {
		results[0].Err = *err
		return
	}
	over := max(1, float64(n)/float64(d.width))
	time.Sleep(time.Duration(float64(d.base) * over * over * (0.8 + 0.4*rand.Float64())))
	if ctx.Err() != nil {
		results[0].Err = proxy.ErrUnavailable
		return
	}
	d.done.Add(1)
}

func (d *database) Apply(context.Context, []proxy.Write, []proxy.Written) {}

// rush has so many callers ask s, each again and again as the cache's fills do,
// and returns what the database did in each second.
func rush(s proxy.Source, d *database, callers, seconds int) (perSecond []int64) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				fill, done := context.WithTimeout(context.Background(), 5*time.Second)
				var out [1]proxy.Result
				s.Load(fill, make([]proxy.Request, 1), out[:])
				done()
			}
		})
	}
	for range seconds {
		before := d.done.Load()
		time.Sleep(time.Second)
		perSecond = append(perSecond, d.done.Load()-before)
	}
	cancel()
	all.Wait()
	return perSecond
}

func sum(n []int64) (all int64) {
	for _, one := range n {
		all += one
	}
	return all
}

func TestColdDatabase(t *testing.T) {
	const callers, seconds = 256, 20
	fresh := func() *database { return &database{width: 16, base: 10 * time.Millisecond} }
	synctest.Test(t, func(t *testing.T) {
		d := fresh()
		best := sum(rush(d, d, d.width, seconds))
		d = fresh()
		without := sum(rush(d, d, callers, seconds))
		d = fresh()
		with := rush(New(d, Options{}), d, callers, seconds)
		t.Logf("of %d loads: %d without the ramp, %d with it; %d at once at most; by seconds %v",
			best, without, sum(with), d.most.Load(), with)
		if without*4 > best {
			t.Error("the database does not collapse: the test says nothing")
		}
		if sum(with)*4 < best*3 {
			t.Error("the ramp reaches less than three quarters of the best")
		}
	})
}

// A source that keeps up is asked as much as anybody wants.
func TestNoLimitOfItsOwn(t *testing.T) {
	const callers = 128
	synctest.Test(t, func(t *testing.T) {
		d := &database{width: 1 << 20, base: 10 * time.Millisecond}
		with := rush(New(d, Options{}), d, callers, 2)
		t.Logf("%d at once, %d loads in the second second", d.most.Load(), with[1])
		if d.most.Load() != callers {
			t.Errorf("%d callers run at once at most", d.most.Load())
		}
	})
}

// After a quiet time it begins low again, but doubles to where it was.
func TestDecays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{width: 1 << 20, base: time.Millisecond}
		r := New(d, Options{})
		rush(r, d, 128, 1)
		time.Sleep(time.Minute)
		d.most.Store(0)
		var all sync.WaitGroup
		for range 128 {
			all.Go(func() { r.Load(t.Context(), make([]proxy.Request, 1), make([]proxy.Result, 1)) })
		}
		synctest.Wait()
		first := d.running.Load()
		all.Wait()
		if first > 2*8 {
			t.Errorf("%d at once right after a quiet time", first)
		}
		if d.most.Load() < 40 {
			t.Errorf("%d at once at most: it did not double", d.most.Load())
		}
	})
}

// A node of which few fills run at once does not wait.
func TestWarmNodeDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{width: 1 << 20, base: time.Millisecond}
		r := New(d, Options{})
		for range 5000 {
			began := time.Now()
			var all sync.WaitGroup
			for range 1 + rand.IntN(8) {
				all.Go(func() { r.Load(t.Context(), make([]proxy.Request, 1), make([]proxy.Result, 1)) })
			}
			all.Wait()
			if took := time.Since(began); took > 1200*time.Microsecond {
				t.Fatalf("it took %v", took)
			}
		}
	})
}

// While the source gives errors few ask it; once it is back, all do.
func TestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{width: 1 << 20, base: time.Millisecond}
		r := New(d, Options{})
		rush(r, d, 64, 1)
		away := error(proxy.ErrUnavailable)
		d.err.Store(&away)
		for range 200 {
			r.Load(t.Context(), make([]proxy.Request, 1), make([]proxy.Result, 1))
		}
		if r.mu.limit.most != leastLoads {
			t.Errorf("the limit is %d", r.mu.limit.most)
		}
		d.err.Store(nil)
		d.most.Store(0)
		rush(r, d, 64, 1)
		if d.most.Load() < 60 {
			t.Errorf("%d at once a second after the source was back", d.most.Load())
		}
	})
}

// A source that is slower for good is not held back for ever.
func TestSlowerForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{width: 1 << 20, base: time.Millisecond}
		r := New(d, Options{})
		rush(r, d, 32, 1)
		d.base = 100 * time.Millisecond
		rush(r, d, 32, 3)
		if low := r.mu.limit.most; low >= 32 {
			t.Errorf("the limit is %d, and the source a hundred times slower", low)
		}
		rush(r, d, 32, 120)
		d.most.Store(0)
		rush(r, d, 32, 2)
		if d.most.Load() != 32 {
			t.Errorf("%d at once two minutes later", d.most.Load())
		}
	})
}

func TestWaitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{width: 1 << 20, base: time.Hour}
		r := New(d, Options{Start: 1, Wait: time.Second, Waiting: 2})
		load := func(ctx context.Context) error {
			var out [2]proxy.Result
			r.Load(ctx, make([]proxy.Request, 2), out[:])
			if (out[0].Err == nil) != (out[1].Err == nil) {
				t.Error("one of two has an error")
			}
			return out[0].Err
		}
		var all sync.WaitGroup
		all.Go(func() { _ = load(t.Context()) })
		synctest.Wait()
		began := time.Now()
		all.Go(func() {
			if err := load(t.Context()); !errors.Is(err, proxy.ErrUnavailable) || time.Since(began) != time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
		hurry, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		all.Go(func() {
			if err := load(hurry); !errors.Is(err, proxy.ErrUnavailable) || time.Since(began) != 100*time.Millisecond {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
		synctest.Wait()
		if err := load(t.Context()); !errors.Is(err, proxy.ErrShed) {
			t.Errorf("with two in line: %v", err)
		}
		all.Wait()
		if n := r.mu.queue.Len() + r.mu.running; n != 0 {
			t.Errorf("%d are left over", n)
		}
	})
}
