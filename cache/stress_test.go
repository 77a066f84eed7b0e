package cache

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// counterSource answers every key with the value of its counter.
type counterSource struct{ n []atomic.Int64 }

func (s *counterSource) Load(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
	for i, r := range reqs {
		n, _ := strconv.Atoi(string(r.Key.Text[len("users:"):]))
		results[i] = proxy.Result{Row: value(strconv.FormatInt(s.n[n].Load(), 10)),
			Position: proxy.Position{Commit: 1}, Primary: proxy.Identity{System: 1}}
	}
}

func (s *counterSource) Apply(context.Context, []proxy.Write, []proxy.Written) {}

func newStressed(t testing.TB, source proxy.Source, bytes int64) (*Cache, *proxy.Catalog, *fakeClock) {
	t.Helper()
	catalog, err := proxy.NewCatalog(mapping("users", "users"))
	if err != nil {
		t.Fatal(err)
	}
	clock := &fakeClock{}
	clock.set(1_000_000_000)
	stream := &fakeStream{}
	stream.reach(clock.now())
	c, err := New(catalog, source, stream, clock, Options{Bytes: bytes, UseCases: []UseCase{{Bound: time.Hour}}})
	if err != nil {
		t.Fatal(err)
	}
	keep(t, c)
	return c, catalog, clock
}

// keep runs a cache until the test ends.
func keep(t testing.TB, c *Cache) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
}

// Once Change has returned, no read that begins later may answer what the
// source had before: with a real store, which loses and revives what it likes.
func TestNoReadAfterAChangeAnswersTheOldValue(t *testing.T) {
	const keys, readers, changes, enough = 200, 4, 40_000, 200_000
	source := &counterSource{n: make([]atomic.Int64, keys)}
	c, catalog, _ := newStressed(t, source, 32<<20)
	applied := make([]atomic.Int64, keys) // the value of which Change has returned
	texts := make([][]byte, keys)
	for i := range texts {
		texts[i] = []byte("users:" + strconv.Itoa(i))
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	var reads, hits atomic.Int64
	for r := range readers {
		wg.Go(func() {
			results := make([]proxy.Result, 1)
			for i := r; !stop.Load(); i++ {
				k := i % keys
				key, _ := catalog.Key(texts[k])
				least := applied[k].Load()
				c.Load(t.Context(), []proxy.Request{{Key: key}}, results)
				got, err := strconv.ParseInt(text(results[0].Row), 10, 64)
				if err != nil || results[0].Err != nil || got < least {
					t.Errorf("key %d: got %q, %v after the change to %d was applied", k, text(results[0].Row), results[0].Err, least)
					stop.Store(true)
				}
				reads.Add(1)
				if results[0].Origin == proxy.FromCache {
					hits.Add(1)
				}
			}
		})
	}
	for i := 0; !stop.Load() && (i < changes || reads.Load() < enough); i++ {
		if i%1000 == 0 {
			runtime.Gosched() // the changes alone take no time
		}
		k := i * 7 % keys
		key, _ := catalog.Key(texts[k])
		v := source.n[k].Add(1)
		var image *proxy.Image
		if i%2 == 0 {
			image = &proxy.Image{Row: value(strconv.FormatInt(v, 10)), Position: proxy.Position{Commit: uint64(i + 2)}, Commit: 1_000_000_000}
		}
		c.Change(key, image, proxy.Record{})
		applied[k].Store(v)
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("%d reads, %d hits", reads.Load(), hits.Load())
	if hits.Load()*10 < reads.Load() {
		t.Errorf("only %d hits in %d reads: the run says nothing", hits.Load(), reads.Load())
	}
}

// A value set for a new key is found by the read that follows its fill, though
// the store makes it visible late.
func TestReadRightAfterAFillIsNoSecondFill(t *testing.T) {
	const keys = 20_000
	source := &counterSource{n: make([]atomic.Int64, keys)}
	c, catalog, _ := newStressed(t, source, 64<<20)
	results := make([]proxy.Result, 1)
	second := 0
	for i := range keys {
		key, _ := catalog.Key([]byte("users:" + strconv.Itoa(i)))
		for range 2 {
			c.Load(t.Context(), []proxy.Request{{Key: key}}, results)
		}
		if results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
	}
	for i := range c.metrics.fills[0] {
		if i > 0 {
			second += int(counterValue(t, c.metrics.fills[0][i]))
		}
	}
	if second != keys {
		t.Errorf("%d fills for %d keys that were read twice each", second, keys)
	}
}

func TestRealMemoryStaysWithinBudget(t *testing.T) {
	const bytes = 48 << 20
	before := heapAlloc()
	source := &wideSource{}
	c, catalog, _ := newStressed(t, source, bytes)
	stamps := int64(len(c.stamps.slot)*8 + len(c.stamps.gone)*4)
	results := make([]proxy.Result, 100)
	reqs := make([]proxy.Request, 100)
	for i := 0; i < 200_000; i += len(reqs) { // about twice what there is room for
		for j := range reqs {
			reqs[j].Key, _ = catalog.Key([]byte("users:" + strconv.Itoa(i+j)))
		}
		c.Load(t.Context(), reqs, results)
	}
	clear(results)
	held := heapAlloc() - before - stamps
	t.Logf("held %.1f MiB of %d MiB, besides %.1f MiB of stamps", float64(held)/(1<<20), bytes>>20, float64(stamps)/(1<<20))
	if held > bytes {
		t.Errorf("the cache holds %d bytes, its budget is %d", held, bytes)
	}
	if held < bytes/2 {
		t.Errorf("the cache holds only %d bytes of %d", held, bytes)
	}
}

// wideSource answers rows of 10 to 500 bytes, and absence for every fourth key.
type wideSource struct{}

func (wideSource) Load(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
	for i, r := range reqs {
		h := hashOf(r.Key.Text)
		var v row.Row
		if h%4 > 0 {
			v = value(string(make([]byte, 10+h>>8%490)))
		}
		results[i] = proxy.Result{Row: v, Primary: proxy.Identity{System: 1}}
	}
}

func (wideSource) Apply(context.Context, []proxy.Write, []proxy.Written) {}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// BenchmarkHit is the whole of a hit below the protocol.
func BenchmarkHit(b *testing.B) {
	const keys = 1 << 10
	source := &counterSource{n: make([]atomic.Int64, keys)}
	c, catalog, clock := newStressed(b, source, 32<<20)
	tick := time.Duration(0)
	reqs := make([]proxy.Request, keys)
	results := make([]proxy.Result, keys)
	for i := range reqs {
		reqs[i].Key, _ = catalog.Key([]byte("users:" + strconv.Itoa(i)))
	}
	c.Load(b.Context(), reqs, results)
	for _, depth := range []int{1, 16} {
		b.Run("depth="+strconv.Itoa(depth), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i = (i + depth) & (keys - 1)
				if tick++; tick&1023 == 0 {
					clock.advance(1) // some of its moments leave a sample
				}
				c.Load(b.Context(), reqs[i:i+depth], results[:depth])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*depth), "ns/key")
		})
	}
}

// BenchmarkChangeOfForeignKey is what the stream costs a node per change of a
// key it does not hold.
func BenchmarkChangeOfForeignKey(b *testing.B) {
	c, catalog, _ := newStressed(b, wideSource{}, 32<<20)
	key, _ := catalog.Key([]byte("users:123456"))
	b.ReportAllocs()
	for b.Loop() {
		c.Change(key, nil, proxy.Record{})
	}
}

// A use case with memory of its own keeps to it, and cannot push out others.
func TestMaxBytesOfAUseCase(t *testing.T) {
	const own = 4 << 20
	catalog, err := proxy.NewCatalog(mapping("users", "users"), mapping("logs", "logs"))
	if err != nil {
		t.Fatal(err)
	}
	clock, stream := &fakeClock{}, &fakeStream{}
	clock.set(1_000_000_000)
	opts := Options{Bytes: 32 << 20, UseCases: []UseCase{{Bound: time.Hour}, {Bound: time.Hour, MaxBytes: own}}}
	c, err := New(catalog, wideSource{}, stream, clock, opts)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, c)
	load := func(useCase string, keys int) (hits int) {
		results := make([]proxy.Result, 100)
		reqs := make([]proxy.Request, 100)
		for i := 0; i < keys; i += len(reqs) {
			for j := range reqs {
				reqs[j].Key, _ = catalog.Key([]byte(useCase + ":" + strconv.Itoa(i+j)))
			}
			c.Load(t.Context(), reqs, results)
			for _, r := range results {
				if r.Origin == proxy.FromCache {
					hits++
				}
			}
		}
		return hits
	}
	load("users", 5000)
	load("logs", 100_000)
	for name, s := range c.storesByName() {
		used, bound := s.Used()
		if used > bound {
			t.Errorf("%s uses %d bytes of %d", name, used, bound)
		}
		if name == "use_case:logs" && (bound > own || used < own/2) {
			t.Errorf("logs use %d bytes of %d, they have %d", used, bound, own)
		}
	}
	if hits := load("users", 5000); hits < 3700 { // every fourth is an absence, which shares its memory
		t.Errorf("%d hits of 5000 after another use case was flooded", hits)
	}
	if _, err := New(catalog, wideSource{}, stream, clock, Options{Bytes: 4 << 20, UseCases: opts.UseCases}); err == nil {
		t.Error("a use case with more memory than the node was accepted")
	}
}
