package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/freshet-cache/freshet/proxy"
)

func TestHitWithinBoundByAsOf(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Second, NoRefresh: true})
	w.source.set("users:1", "a")
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromFill)
	w.clock.advance(time.Second)
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromCache)
	w.clock.advance(1)
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromFill)
}

func TestWatermarkLiftsEntries(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Second, NoRefresh: true})
	w.source.set("users:1", "a")
	w.read(t, "users:1", proxy.Freshness{})
	w.clock.advance(time.Hour)
	w.stream.reach(w.clock.back(500 * time.Millisecond))
	res := w.read(t, "users:1", proxy.Freshness{})
	w.want(t, res, "a", proxy.FromCache)
	if res.AsOf != w.clock.back(500*time.Millisecond) {
		t.Fatalf("as-of %d is not the watermark", res.AsOf)
	}
	w.want(t, w.read(t, "users:1", proxy.Freshness{MaxStale: 400 * time.Millisecond}), "a", proxy.FromFill)
}

func TestPinnedEntriesAreNotLifted(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Second, NoRefresh: true})
	w.Cache.next = pinning{w.source, w.clock, 300 * time.Millisecond}
	w.stream.err = proxy.ErrNotPrimary // of whom a replica's answer is not asked
	w.source.set("users:1", "a")
	res := w.read(t, "users:1", proxy.Freshness{})
	w.want(t, res, "a", proxy.FromFill)
	if want := w.clock.back(300 * time.Millisecond); res.AsOf != want || res.Upper != 0 || !res.Pinned {
		t.Errorf("a replica's answer is as of %d with upper end %d, want %d and none", res.AsOf, res.Upper, want)
	}
	w.clock.advance(700 * time.Millisecond)
	w.stream.reach(w.clock.now())
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromCache)
	w.clock.advance(1)
	w.stream.reach(w.clock.now())
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromFill)
}

// A replica that is behind answers nobody who asks for more than it has.
func TestPinnedAnswersOutsideTheBoundAreNotGiven(t *testing.T) {
	for _, c := range []struct {
		what   string
		behind time.Duration
		ask    proxy.Freshness
		ok     bool
	}{
		{"at the bound", time.Second, proxy.Freshness{}, true},
		{"beyond the bound", time.Second + 1, proxy.Freshness{}, false},
		{"beyond the read's own bound", 500 * time.Millisecond, proxy.Freshness{MaxStale: 400 * time.Millisecond}, false},
		{"within the read's own bound", 5 * time.Second, proxy.Freshness{MaxStale: 6 * time.Second}, true},
		{"as fresh as the source", 0, proxy.Freshness{Strong: true}, false},
		{"before the token", 10, proxy.Freshness{Token: 100_000_000_000}, false},
		{"not before the token", 0, proxy.Freshness{Token: 100_000_000_000}, true},
	} {
		w := newWorld(t, UseCase{Bound: time.Second, NoRefresh: true})
		w.clock.set(100_000_000_000)
		w.Cache.next = pinning{w.source, w.clock, c.behind}
		w.source.set("users:1", "a")
		switch res := w.read(t, "users:1", c.ask); {
		case c.ok:
			w.want(t, res, "a", proxy.FromFill)
		case !errors.Is(res.Err, proxy.ErrUnavailable) || res.Row.Exists():
			t.Errorf("%s: %+v", c.what, res)
		}
	}
}

// A replica's clock or its table may be wrong: what it says is from the future
// is not young for longer.
func TestPinnedAnswersAreNotFromTheFuture(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Second, NoRefresh: true})
	w.Cache.next = pinning{w.source, w.clock, -time.Hour}
	w.source.set("users:1", "a")
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromFill)
	w.clock.advance(time.Second + 1)
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromFill)
}

// A change drops a pinned entry and never replaces it: it has no position that
// the change's could be held against.
func TestPinnedEntriesAreNotReplaced(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Second, NoRefresh: true})
	w.Cache.next = pinning{w.source, w.clock, 0}
	w.source.set("users:1", "a")
	w.read(t, "users:1", proxy.Freshness{})
	w.Change(w.key(t, "users:1"), &proxy.Image{Row: value("b"), Position: proxy.Position{Commit: 99}, Commit: w.clock.now()})
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromFill)
}

// What a primary answers is as fresh as the fill, pinned or not: only its entry
// does not rise with the watermark.
func TestPinnedAnswersOfThePrimary(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Second, NoRefresh: true})
	w.Cache.next = unlogged{w.source}
	w.source.set("users:1", "a")
	res := w.read(t, "users:1", proxy.Freshness{Strong: true})
	w.want(t, res, "a", proxy.FromFill)
	if res.AsOf != w.clock.now() || res.Upper != w.clock.now() || !res.Pinned {
		t.Errorf("got %+v", res)
	}
	w.clock.advance(time.Second + 1)
	w.stream.reach(w.clock.now())
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromFill)
	w.stream.err = proxy.ErrNotPrimary
	if res := w.read(t, "users:1", proxy.Freshness{Strong: true}); !errors.Is(res.Err, proxy.ErrNotPrimary) {
		t.Errorf("of another primary: %+v", res)
	}
}

// unlogged is a primary that reads what no change is told of.
type unlogged struct{ *fakeSource }

func (u unlogged) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	u.fakeSource.Load(ctx, reqs, results)
	for i := range results {
		results[i].Pinned = true
	}
}

// pinning is a source that is a replica, so far behind.
type pinning struct {
	*fakeSource
	clock  *fakeClock
	behind time.Duration
}

func (p pinning) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	p.fakeSource.Load(ctx, reqs, results)
	for i := range results {
		results[i].Pinned, results[i].AsOf = true, p.clock.back(p.behind)
		results[i].Primary, results[i].Position = proxy.Identity{}, proxy.Position{}
	}
}

func TestTTLMaxEndsEveryEntry(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Second, TTLMax: time.Minute, NoRefresh: true})
	w.source.set("users:1", "a")
	w.read(t, "users:1", proxy.Freshness{})
	for range 53 { // hits all the way to 0.9 of ttl_max
		w.clock.advance(time.Second)
		w.stream.reach(w.clock.now())
		w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromCache)
	}
	w.clock.advance(8 * time.Second)
	w.stream.reach(w.clock.now())
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromFill)
}

func TestStrongAndToken(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Hour, NoRefresh: true})
	w.source.set("users:1", "a")
	w.read(t, "users:1", proxy.Freshness{})
	w.want(t, w.read(t, "users:1", proxy.Freshness{Strong: true}), "a", proxy.FromFill)
	token := w.clock.now() + 1
	w.want(t, w.read(t, "users:1", proxy.Freshness{Token: token}), "a", proxy.FromFill)
	w.clock.advance(10)
	w.want(t, w.read(t, "users:1", proxy.Freshness{Token: token}), "a", proxy.FromFill)
	w.want(t, w.read(t, "users:1", proxy.Freshness{Token: token}), "a", proxy.FromCache)
}

func TestAbsenceIsCachedUntilTheInsert(t *testing.T) {
	w := newWorld(t, UseCase{NoRefresh: true})
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "<none>", proxy.FromFill)
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "<none>", proxy.FromCache)
	w.source.set("users:1", "a")
	w.Change(w.key(t, "users:1"), nil)
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromFill)
}

func TestReplaceRules(t *testing.T) {
	image := func(v string, commit uint64) *proxy.Image {
		return &proxy.Image{Row: value(v), Position: proxy.Position{Commit: commit}, Commit: 1_000_000_005}
	}
	for _, tc := range []struct {
		name  string
		image *proxy.Image
		prior func(w *world)
		want  string
		from  proxy.Origin
	}{
		{"newer image replaces", image("b", 100), nil, "b", proxy.FromCache},
		{"no image drops", nil, nil, "db", proxy.FromFill},
		{"not newer drops", image("b", 2), nil, "db", proxy.FromFill},
		{"epoch moved drops", image("b", 100), func(w *world) { w.Void(w.users) }, "db", proxy.FromFill},
		{"stamp moved drops", image("b", 100), func(w *world) { w.Change(w.key(t, "users:1"), nil) }, "db", proxy.FromFill},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, UseCase{Bound: time.Hour, NoRefresh: true})
			w.source.set("users:1", "a")
			w.read(t, "users:1", proxy.Freshness{})
			w.source.set("users:1", "db")
			if tc.prior != nil {
				tc.prior(w)
			}
			w.Change(w.key(t, "users:1"), tc.image)
			w.want(t, w.read(t, "users:1", proxy.Freshness{}), tc.want, tc.from)
		})
	}
}

func TestAbsentIsNeverCreatedByAChange(t *testing.T) {
	w := newWorld(t, UseCase{NoRefresh: true})
	w.Change(w.key(t, "users:1"), &proxy.Image{Row: value("x"), Position: proxy.Position{Commit: 9}, Commit: w.clock.now()})
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "<none>", proxy.FromFill)
}

func TestFillThatAChangePassedIsNotInstalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, UseCase{Bound: time.Hour, NoRefresh: true})
		w.source.gate = make(chan struct{})
		w.source.set("users:1", "old")
		first := make(chan proxy.Result, 1)
		go func() { first <- w.read(t, "users:1", proxy.Freshness{}) }()
		synctest.Wait() // the fill holds its snapshot
		w.source.set("users:1", "new")
		w.Change(w.key(t, "users:1"), nil)
		second := make(chan proxy.Result, 1)
		go func() { second <- w.read(t, "users:1", proxy.Freshness{}) }()
		synctest.Wait()
		if n := w.source.calls.Load(); n != 1 {
			t.Fatalf("%d source calls while the first fill runs; the next one waits behind it", n)
		}
		w.source.gate <- struct{}{}
		w.want(t, <-first, "old", proxy.FromFill)
		synctest.Wait()
		w.source.gate <- struct{}{}
		w.want(t, <-second, "new", proxy.FromFill)
		synctest.Wait()
		w.want(t, w.read(t, "users:1", proxy.Freshness{}), "new", proxy.FromCache)
	})
}

func TestColdKeyIsLoadedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const readers = 10_000
		w := newWorld(t, UseCase{Timeout: time.Minute})
		w.source.gate = make(chan struct{})
		w.source.set("users:1", "v1")
		results := make([]proxy.Result, readers)
		var wg sync.WaitGroup
		ask := func(i int) {
			ctx := t.Context()
			switch i % 10 {
			case 0: // a caller that leaves: its own answer is its own affair
				c, cancel := context.WithCancel(ctx)
				go cancel()
				ctx = c
			case 1: // a caller with a short deadline
				c, cancel := context.WithTimeout(ctx, time.Millisecond)
				defer cancel()
				ctx = c
			}
			results[i] = w.readCtx(t, ctx, "users:1", proxy.Freshness{})
		}
		for i := range readers / 2 {
			wg.Go(func() { ask(i) })
		}
		synctest.Wait()
		w.source.set("users:1", "v2")
		w.Change(w.key(t, "users:1"), nil)
		for i := readers / 2; i < readers; i++ {
			wg.Go(func() { ask(i) })
		}
		synctest.Wait()
		time.Sleep(2 * time.Millisecond) // the short deadlines pass
		w.source.gate <- struct{}{}
		w.source.gate <- struct{}{}
		wg.Wait()
		if n := w.source.keys.Load(); n != 2 {
			t.Fatalf("%d keys read from the source, want 2: one fill, and one after the change", n)
		}
		for i, r := range results {
			want := "v1"
			if i >= readers/2 {
				want = "v2"
			}
			switch {
			case i%10 == 0 && (r.Err == nil && text(r.Row) == want || errors.Is(r.Err, context.Canceled)):
			case i%10 == 1 && errors.Is(r.Err, context.DeadlineExceeded):
			case i%10 > 1 && r.Err == nil && text(r.Row) == want:
			default:
				t.Fatalf("reader %d: %q, error %v; want %q", i, text(r.Row), r.Err, want)
			}
		}
	})
}

// How many reads are hits, and how long the others take, is what whoever is called
// at night asks first.
func TestReadsAndFillsAreToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, UseCase{Timeout: time.Second})
		w.Cache.next = slowly(w.source, func() { time.Sleep(30 * time.Millisecond) })
		w.read(t, "users:1", proxy.Freshness{})
		w.read(t, "users:1", proxy.Freshness{}) // a hit
		w.read(t, "users:2", proxy.Freshness{})
		if hits, misses := w.Reads(); hits != 1 || misses != 2 {
			t.Errorf("%d hits and %d misses, want 1 and 2", hits, misses)
		}
		var m dto.Metric
		if err := w.metrics.took.Write(&m); err != nil {
			t.Fatal(err)
		}
		if n, sum := m.Histogram.GetSampleCount(), m.Histogram.GetSampleSum(); n != 2 || math.Abs(sum-0.06) > 1e-9 {
			t.Errorf("%d fills took %v s, want 2 and 0.06 s", n, sum)
		}
	})
}

func TestStrongNeverJoinsASentFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, UseCase{Bound: time.Hour, Timeout: time.Minute})
		w.source.gate = make(chan struct{})
		w.source.set("users:1", "v1")
		plain, strong := make(chan proxy.Result, 2), make(chan proxy.Result, 2)
		go func() { plain <- w.read(t, "users:1", proxy.Freshness{}) }()
		synctest.Wait()
		w.source.set("users:1", "v2") // committed, and the stream has not brought it
		go func() { plain <- w.read(t, "users:1", proxy.Freshness{}) }()
		go func() { strong <- w.read(t, "users:1", proxy.Freshness{Strong: true}) }()
		go func() { strong <- w.read(t, "users:1", proxy.Freshness{Strong: true}) }()
		synctest.Wait()
		w.source.gate <- struct{}{}
		w.want(t, <-plain, "v1", proxy.FromFill)
		w.want(t, <-plain, "v1", proxy.FromFill)
		w.source.gate <- struct{}{}
		w.want(t, <-strong, "v2", proxy.FromFill)
		w.want(t, <-strong, "v2", proxy.FromFill)
		if n := w.source.calls.Load(); n != 2 {
			t.Fatalf("%d source calls, want 2", n)
		}
	})
}

func TestErrorsReachAllAndAreNotCached(t *testing.T) {
	w := newWorld(t, UseCase{})
	boom := fmt.Errorf("%w: refused", proxy.ErrUnavailable)
	w.source.fail(boom)
	for range 2 {
		if res := w.read(t, "users:1", proxy.Freshness{}); !errors.Is(res.Err, proxy.ErrUnavailable) {
			t.Fatalf("got %v", res.Err)
		}
	}
	if n := w.source.calls.Load(); n != 2 {
		t.Fatalf("%d source calls, want 2: an error is not kept", n)
	}
	w.source.fail(nil)
	w.source.set("users:1", "a")
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromFill)
}

func TestOnUnavailable(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Second, MaxStale: time.Minute, NoRefresh: true})
	w.source.set("users:1", "a")
	w.read(t, "users:1", proxy.Freshness{})
	w.source.fail(proxy.ErrUnavailable)
	w.clock.advance(time.Minute)
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromStale)
	for _, f := range []proxy.Freshness{{MaxStale: time.Second}, {Strong: true}, {Token: w.clock.now()}} {
		if res := w.read(t, "users:1", f); !errors.Is(res.Err, proxy.ErrUnavailable) {
			t.Fatalf("%+v states its own freshness, got %q, %v", f, text(res.Row), res.Err)
		}
	}
	w.clock.advance(1)
	if res := w.read(t, "users:1", proxy.Freshness{}); !errors.Is(res.Err, proxy.ErrUnavailable) {
		t.Fatalf("beyond max_stale: got %q, %v", text(res.Row), res.Err)
	}
}

func TestFillTimeoutDoesNotOutliveItsFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, UseCase{Timeout: time.Second})
		w.source.gate = make(chan struct{})
		if res := w.read(t, "users:1", proxy.Freshness{}); !errors.Is(res.Err, proxy.ErrUnavailable) {
			t.Fatalf("got %v", res.Err)
		}
		time.Sleep(fillTimeout)
		synctest.Wait()
		if running, _ := w.locks.Running(hashOf([]byte("users:1")), []byte("users:1")); running != nil {
			t.Fatal("the fill lock is still held")
		}
	})
}

func TestNotPrimaryIsNeitherServedNorKept(t *testing.T) {
	w := newWorld(t, UseCase{})
	w.source.set("users:1", "a")
	w.stream.err = proxy.ErrNotPrimary
	if res := w.read(t, "users:1", proxy.Freshness{}); !errors.Is(res.Err, proxy.ErrNotPrimary) {
		t.Fatalf("got %q, %v", text(res.Row), res.Err)
	}
	w.stream.err = nil
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromFill)
}

func TestRefreshAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, UseCase{Bound: time.Second})
		w.source.set("users:1", "a")
		w.read(t, "users:1", proxy.Freshness{})
		w.clock.advance(650 * time.Millisecond)
		w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromCache)
		synctest.Wait()
		if n := w.source.calls.Load(); n != 1 {
			t.Fatalf("refreshed at 0.65 of the bound")
		}
		w.clock.advance(300 * time.Millisecond)
		w.source.set("users:1", "b")
		w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromCache)
		synctest.Wait()
		w.clock.advance(500 * time.Millisecond)
		w.want(t, w.read(t, "users:1", proxy.Freshness{}), "b", proxy.FromCache)
	})
}

func TestWritesVoidBeforeTheyAnswer(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Hour})
	w.source.set("users:1", "a")
	w.read(t, "users:1", proxy.Freshness{})
	out := make([]proxy.Written, 1)
	put := proxy.Write{Key: w.key(t, "users:1"), Op: proxy.Put}
	put.Fields = append(put.Fields, field("b"))
	w.Apply(t.Context(), []proxy.Write{put}, out)
	if out[0].Err != nil || out[0].Token != w.clock.now() {
		t.Fatalf("got %+v", out[0])
	}
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "b", proxy.FromFill)

	w.source.fail(proxy.ErrUnknownOutcome)
	w.Apply(t.Context(), []proxy.Write{put}, out)
	w.source.fail(nil)
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "b", proxy.FromFill)

	w.source.fail(&proxy.RejectedError{Reason: "no"})
	w.Apply(t.Context(), []proxy.Write{put}, out)
	w.source.fail(nil)
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "b", proxy.FromCache)
}

func TestExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, UseCase{Bound: time.Second, Timeout: time.Minute, NoRefresh: true})
		w.source.gate = make(chan struct{})
		w.source.set("users:1", "a")
		explain := func() string {
			var out string
			for _, fact := range w.Explain(w.key(t, "users:1")) {
				if fact[0] == "a read now" {
					out = fact[1]
				}
			}
			return out
		}
		want := func(outcome string) {
			t.Helper()
			if got := explain(); got != outcome {
				t.Errorf("got %q, want %q", got, outcome)
			}
		}
		want("fill: not in memory")
		done := make(chan struct{})
		go func() { defer close(done); w.read(t, "users:1", proxy.Freshness{}) }()
		synctest.Wait()
		want("shares the fill under way: not in memory")
		w.clock.advance(2 * time.Second)
		want("fill: not in memory") // the one under way is too old by now
		w.clock.advance(-2 * time.Second)
		w.source.gate <- struct{}{}
		<-done
		synctest.Wait()
		want("hit")
		w.clock.advance(2 * time.Second)
		want("fill: expired")
		w.Invalidate(w.key(t, "users:1"))
		want("fill: changed")
	})
}
