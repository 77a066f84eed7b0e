package cache

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/cdc"
	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// What people reported of systems of this kind, with the reporters' input. The
// names in the comments are those of testdata/scenarios.md.

// sourceFunc is a Source for reads.
type sourceFunc func(ctx context.Context, reqs []proxy.Request, results []proxy.Result)

func (f sourceFunc) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	f(ctx, reqs, results)
}

func (f sourceFunc) Apply(context.Context, []proxy.Write, []proxy.Written) {}

// slowly answers like source, but each answer stays on its way while wait
// waits; deadlines do not shorten that.
func slowly(source proxy.Source, wait func()) sourceFunc {
	return func(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
		source.Load(ctx, reqs, results)
		wait()
	}
}

// B1, B2, B5, B18: a fill has read the old row when something says that the
// row is another. Whatever says so, whatever became of the entry meanwhile and
// however long entries may live: the old row is not kept.
func TestFillThatWasPassedIsNotKept(t *testing.T) {
	image := &proxy.Image{Row: value("new"), Position: proxy.Position{Commit: 100}, Commit: 1_000_000_000}
	for name, pass := range map[string]func(w *world, key proxy.Key){
		"B1, a change":                   func(w *world, key proxy.Key) { w.Change(key, nil) },
		"a change that replaces":         func(w *world, key proxy.Key) { w.Change(key, image) },
		"B5, FRESHET.INVALIDATE key":     func(w *world, key proxy.Key) { w.Invalidate(key) },
		"B5, FRESHET.INVALIDATE USECASE": func(w *world, key proxy.Key) { w.Void(w.users) },
		"a write": func(w *world, key proxy.Key) {
			w.Apply(t.Context(), []proxy.Write{{Key: key, Fields: []row.Field{field("new")}}}, make([]proxy.Written, 1))
		},
		"B18, a change of what is not here": func(w *world, key proxy.Key) { w.cases[0].rows.Drop(hashOf(key.Text)); w.Change(key, nil) },
		"B2, a change whose entry is evicted": func(w *world, key proxy.Key) {
			w.Change(key, image)
			w.cases[0].rows.Drop(hashOf(key.Text))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, UseCase{Bound: time.Hour, TTLMax: 10 * time.Minute, NoRefresh: true, Timeout: time.Minute})
				w.source.set("users:1", "old")
				w.read(t, "users:1", proxy.Freshness{})
				w.source.gate = make(chan struct{})
				first := make(chan proxy.Result, 1)
				go func() { first <- w.read(t, "users:1", proxy.Freshness{Strong: true}) }()
				synctest.Wait() // the fill has read the old row
				w.source.set("users:1", "new")
				pass(w, w.key(t, "users:1"))
				close(w.source.gate)
				w.want(t, <-first, "old", proxy.FromFill) // it asked before
				synctest.Wait()
				for range 3 {
					if res := w.read(t, "users:1", proxy.Freshness{}); res.Err != nil || text(res.Row) != "new" {
						t.Errorf("got %q, %v", text(res.Row), res.Err)
					}
				}
			})
		})
	}
}

// lossy forgets what it is to keep while lose is on, as a full store does.
type lossy struct {
	entries
	lose bool
}

func (l *lossy) Put(h uint64, e *entry, size int) {
	if !l.lose {
		l.entries.Put(h, e, size)
	}
}

// B3: a change that can be carried out by half only leaves nothing behind that
// looks like the new version, and saying it again does no harm.
func TestChangeCarriedOutByHalf(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Hour, NoRefresh: true})
	l := &lossy{entries: w.cases[0].rows}
	w.cases[0].rows = l
	w.source.set("users:1", "old")
	w.read(t, "users:1", proxy.Freshness{})
	w.source.set("users:1", "new")
	image := &proxy.Image{Row: value("new"), Position: proxy.Position{Commit: 100}, Commit: 1_000_000_000}
	l.lose = true
	w.Change(w.key(t, "users:1"), image)
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "new", proxy.FromFill)
	l.lose = false
	w.Change(w.key(t, "users:1"), image)
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "new", proxy.FromFill)
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "new", proxy.FromCache)
}

// B7: two who make the same key void at once, a million times in all over a
// real store, and one who reads it.
func TestTwoInvalidationsAtOnce(t *testing.T) {
	const rounds = 500_000
	source := &counterSource{n: make([]atomic.Int64, 1)}
	c, catalog, _ := newStressed(t, source, 16<<20)
	key, err := catalog.Key([]byte("users:0"))
	if err != nil {
		t.Fatal(err)
	}
	var done atomic.Int64 // the newest value whose invalidation has returned
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for range rounds {
				v := source.n[0].Add(1)
				c.Invalidate(key)
				for old := done.Load(); old < v && !done.CompareAndSwap(old, v); old = done.Load() {
				}
				runtime.Gosched()
			}
		})
	}
	hits, fills := 0, 0
	results := make([]proxy.Result, 1)
	for least := int64(0); least < 2*rounds; {
		least = done.Load()
		c.Load(t.Context(), []proxy.Request{{Key: key}}, results)
		if got, err := strconv.ParseInt(text(results[0].Row), 10, 64); err != nil || got < least {
			t.Errorf("got %q after the change to %d", text(results[0].Row), least)
			break
		}
		if results[0].Origin == proxy.FromCache {
			hits++
			runtime.Gosched() // nobody made it void meanwhile: let them
		} else {
			fills++
		}
	}
	writers.Wait()
	t.Logf("%d hits and %d fills", hits, fills)
}

// B10: the one whose read began the fill leaves; the other 99 are answered by
// it.
func TestTheFirstOfAHundredLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, UseCase{})
		w.source.set("users:1", "a")
		w.Cache.next = slowly(w.source, func() { time.Sleep(50 * time.Millisecond) })
		leader, leave := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer leave()
		results := make([]proxy.Result, 100)
		var wg sync.WaitGroup
		wg.Go(func() { results[0] = w.readCtx(t, leader, "users:1", proxy.Freshness{}) })
		synctest.Wait()
		for i := 1; i < len(results); i++ {
			wg.Go(func() { results[i] = w.read(t, "users:1", proxy.Freshness{}) })
		}
		wg.Wait()
		if !errors.Is(results[0].Err, context.DeadlineExceeded) {
			t.Errorf("the first: %v", results[0].Err)
		}
		for _, res := range results[1:] {
			w.want(t, res, "a", proxy.FromFill)
		}
		if n := w.source.keys.Load(); n != 1 {
			t.Errorf("%d reads of the source", n)
		}
	})
}

// B14: ten thousand clients on a key that changes each second cost one read of
// the source for each change, and none waits longer than for a fill and the
// one before it.
func TestHerdOnAKeyThatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, changes, tick, fill = 10_000, 8, 100 * time.Millisecond, 20 * time.Millisecond
		w := newWorld(t, UseCase{})
		w.Cache.clock = bubbleClock{}
		w.Cache.next = slowly(w.source, func() { time.Sleep(fill) })
		w.source.set("users:1", "0")
		var applied atomic.Int64
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Microsecond)
				for range 4 * changes {
					least, asked := applied.Load(), time.Now()
					res := w.read(t, "users:1", proxy.Freshness{})
					if v, err := strconv.ParseInt(text(res.Row), 10, 64); err != nil || v < least || time.Since(asked) > 2*fill {
						t.Errorf("got %q, %v after %v; the change to %d was applied", text(res.Row), res.Err, time.Since(asked), least)
						return
					}
					time.Sleep(250 * time.Millisecond)
				}
			})
		}
		for i := range changes * 10 {
			time.Sleep(tick)
			if i%10 == 9 {
				v := int64(i/10 + 1)
				w.source.set("users:1", strconv.FormatInt(v, 10))
				w.Change(w.key(t, "users:1"), nil)
				applied.Store(v)
			}
			w.stream.reach(proxy.Time(time.Now().UnixNano()))
		}
		wg.Wait()
		if n := w.source.keys.Load(); n < changes || n > changes+1 {
			t.Errorf("%d reads of the source for %d changes", n, changes)
		}
	})
}

// B16: a refresh that never comes back, not even at its deadline. What is
// served ages no further than the bound, or than max_stale where that is
// asked for and then it is marked.
func TestRefreshThatNeverEnds(t *testing.T) {
	for _, maxStale := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			const bound = time.Second
			w := newWorld(t, UseCase{Bound: bound, MaxStale: maxStale, Timeout: 100 * time.Millisecond})
			w.Cache.clock = bubbleClock{}
			w.source.set("users:1", "old")
			w.read(t, "users:1", proxy.Freshness{})
			filled := time.Now()
			hang := make(chan struct{})
			w.Cache.next = slowly(w.source, func() { <-hang })
			w.source.set("users:1", "new") // and no stream says so
			var hits, stale, errs int
			for time.Since(filled) < 2*time.Minute {
				time.Sleep(50 * time.Millisecond)
				asked := time.Since(filled)
				switch res := w.read(t, "users:1", proxy.Freshness{}); {
				case errors.Is(res.Err, proxy.ErrUnavailable):
					errs++
				case res.Origin == proxy.FromCache && asked <= bound:
					hits++
				case res.Origin == proxy.FromStale && asked <= maxStale:
					stale++
				default:
					t.Fatalf("%v after its fill: %q, %v, error %v", asked, text(res.Row), res.Origin, res.Err)
				}
			}
			if hits == 0 || errs == 0 || (stale > 0) != (maxStale > 0) {
				t.Errorf("max_stale %v: %d hits, %d stale, %d errors", maxStale, hits, stale, errs)
			}
			close(hang)
			synctest.Wait()
			if res := w.read(t, "users:1", proxy.Freshness{}); text(res.Row) != "new" {
				t.Errorf("after the source went on: %q, %v", text(res.Row), res.Err)
			}
		})
	}
}

// P10: the source stands still for half a minute under a thousand clients.
// Each read ends at its timeout, no more than one statement per key hangs, and
// a moment after it goes on all are served.
func TestSourceStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, timeout = 1000, time.Second
		const stalls, goesOn, end = 5 * time.Second, 35 * time.Second, 40 * time.Second
		w := newWorld(t, UseCase{Bound: 200 * time.Millisecond, Timeout: timeout})
		w.Cache.clock = bubbleClock{}
		began := time.Now()
		var inside, most atomic.Int64
		w.Cache.next = slowly(w.source, func() {
			for n, m := inside.Add(1), most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			if at := time.Since(began); at >= stalls && at < goesOn {
				time.Sleep(goesOn - at)
			}
			inside.Add(-1)
		})
		var failed atomic.Int64
		var wg sync.WaitGroup
		for i := range clients {
			key := "users:" + strconv.Itoa(i)
			w.source.set(key, key)
			wg.Go(func() {
				for time.Since(began) < end {
					asked := time.Since(began)
					res := w.read(t, key, proxy.Freshness{})
					took := time.Since(began) - asked
					calm := asked < stalls-timeout || asked >= goesOn
					switch {
					case took > timeout || calm && (res.Err != nil || took > 0):
						t.Errorf("asked at %v, after %v: %q, %v", asked, took, text(res.Row), res.Err)
						return
					case res.Err == nil && text(res.Row) != key:
						t.Errorf("%s: got %q", key, text(res.Row))
					case errors.Is(res.Err, proxy.ErrUnavailable):
						failed.Add(1)
					case res.Err != nil:
						t.Error(res.Err)
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		time.Sleep(goesOn - time.Second)
		if n := runtime.NumGoroutine(); n > 2*clients+100 {
			t.Errorf("%d goroutines for %d clients", n, clients)
		}
		wg.Wait()
		w.fills.Wait()
		if failed.Load() == 0 || most.Load() > clients {
			t.Errorf("%d reads failed, %d statements hung at once", failed.Load(), most.Load())
		}
	})
}

// P40, B55: a million reads of a source whose answers come after their readers
// have left, in any order: each is of its own key.
func TestLateAnswersAreOfTheirOwnKeys(t *testing.T) {
	var answered, late, left atomic.Int64
	for round := range uint64(40) {
		synctest.Test(t, func(t *testing.T) { lateAnswers(t, round, &answered, &late, &left) })
	}
	t.Logf("%d answered, %d late, %d left", answered.Load(), late.Load(), left.Load())
	if answered.Load() == 0 || late.Load() == 0 || left.Load() == 0 {
		t.Error("the run says nothing")
	}
}

func lateAnswers(t *testing.T, round uint64, answered, late, left *atomic.Int64) {
	const clients, batches, width, keys = 100, 5, 50, 3000
	w := newWorld(t, UseCase{Bound: 50 * time.Millisecond, Timeout: 100 * time.Millisecond})
	w.Cache.clock = bubbleClock{}
	w.Cache.next = sourceFunc(func(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
		for i, r := range reqs {
			results[i] = proxy.Result{Row: value(string(r.Key.Text)), Primary: proxy.Identity{System: 1}}
		}
	})
	client := func(seed uint64) {
		r := rand.New(rand.NewPCG(seed, round))
		reqs, results := make([]proxy.Request, width), make([]proxy.Result, width)
		for range batches {
			for j := range reqs {
				reqs[j].Key = w.key(t, "users:"+strconv.Itoa(r.IntN(keys)))
			}
			ctx, leave := context.WithCancel(t.Context())
			if r.IntN(4) == 0 {
				ctx, leave = context.WithTimeout(t.Context(), time.Duration(r.IntN(100))*time.Millisecond)
			}
			w.Load(ctx, reqs, results)
			leave()
			for j, res := range results {
				switch {
				case res.Err == nil && text(res.Row) == string(reqs[j].Key.Text):
					answered.Add(1)
				case errors.Is(res.Err, proxy.ErrUnavailable):
					late.Add(1)
				case errors.Is(res.Err, context.DeadlineExceeded):
					left.Add(1)
				default:
					t.Errorf("%s: %q, %v", reqs[j].Key.Text, text(res.Row), res.Err)
					return
				}
			}
		}
	}
	var wg sync.WaitGroup
	for i := range uint64(clients) {
		wg.Go(func() { client(i) })
	}
	wg.Wait()
	w.fills.Wait()
}

// B35: a relay that starts again sends ten thousand changes again, after fills
// that are newer. No entry goes back, and all but the one whose place nobody
// can tell stay hits.
func TestChangesSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, changes = 1000, 10_000
		w := newWorld(t, UseCase{Bound: time.Hour, NoRefresh: true})
		watermark := cdc.NewWatermark()
		w.Cache.clock, w.Cache.stream, w.Cache.stamps = bubbleClock{}, watermark, newStamps(stampBits)
		s := &stream{
			id:      event.StreamID{Source: proxy.Identity{System: 1}, Slot: "s", Topic: 1, Partitions: 1},
			applier: cdc.NewApplier(w.catalog, w.Cache, watermark, bubbleClock{}, slog.New(slog.DiscardHandler)),
		}
		s.applier.Lost("start")
		s.applier.Attached(1)
		position := func(i int) proxy.Position { return proxy.Position{Commit: uint64(i + 1)} }
		again := func(first proxy.Position) {
			s.prev = first
			for i := range changes {
				s.write(t, 0, position(i), change(strconv.Itoa(i%keys)), nil)
			}
		}
		again(proxy.Position{})
		s.write(t, 0, position(changes), nil, &event.Checkpoint{T: proxy.Time(time.Now().UnixNano()), Stream: s.id})
		read := func() (hits int) {
			for i := range keys {
				key := "users:" + strconv.Itoa(i)
				res := w.read(t, key, proxy.Freshness{})
				if res.Err != nil || text(res.Row) != "newest" {
					t.Fatalf("%s: %q, %v", key, text(res.Row), res.Err)
				}
				if res.Origin == proxy.FromCache {
					hits++
				}
			}
			return hits
		}
		for i := range keys {
			w.source.set("users:"+strconv.Itoa(i), "newest")
		}
		read()
		again(position(changes)) // its first record names the last of the partition
		if hits := read(); hits < keys-1 {
			t.Errorf("%d hits of %d after changes that are known", hits, keys)
		}
		if g := s.applier.Status().Gaps; g != 0 {
			t.Errorf("%d gaps", g)
		}
	})
}

// Reported of the store: after a scan of cold keys, or when others become hot,
// nothing new is taken in.
func TestHotKeysBecomeOthers(t *testing.T) {
	const hot, reads = 2000, 30_000
	c, catalog, _ := newStressed(t, wideSource{}, 16<<20)
	r := rand.New(rand.NewPCG(1, 2))
	results := make([]proxy.Result, 1)
	hit := func(n int) bool {
		key, err := catalog.Key([]byte("users:" + strconv.Itoa(n)))
		if err != nil {
			t.Fatal(err)
		}
		c.Load(t.Context(), []proxy.Request{{Key: key}}, results)
		return results[0].Origin == proxy.FromCache
	}
	rate := func(first int) float64 {
		hits := 0
		for i := range reads {
			if hit(first+r.IntN(hot)) && i >= reads/2 {
				hits++
			}
		}
		return float64(hits) / (reads / 2)
	}
	for _, phase := range []struct {
		name  string
		first int
	}{{"hot", 0}, {"after a scan", 0}, {"other hot keys", 1_000_000}} {
		got := rate(phase.first)
		t.Logf("%s: %.3f", phase.name, got)
		if got < 0.8 {
			t.Errorf("%s: %.2f of the reads are hits", phase.name, got)
		}
		for n := range 40_000 {
			hit(2_000_000 + n)
		}
	}
}
