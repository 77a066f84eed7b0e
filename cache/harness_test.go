package cache

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// world is a cache over fakes that a test moves by hand.
type world struct {
	*Cache
	catalog *proxy.Catalog
	source  *fakeSource
	stream  *fakeStream
	clock   *fakeClock
	users   *proxy.UseCase
}

var schema = &row.Schema{Columns: []string{"v"}}

func mapping(name, table string) *row.Mapping {
	m := &row.Mapping{
		Spec:    row.Spec{Name: name, Table: table, Key: []string{"id"}, Column: "v"},
		Columns: []row.KeyColumn{{Name: "id", Kind: row.KeyInt}},
		Primary: true,
	}
	m.Learn(0, schema)
	return m
}

func value(v string) row.Row {
	r, ok := row.Encode(schema, []row.Field{{Name: "v", Kind: row.Text, Value: []byte(v)}})
	if !ok {
		panic("the schema has one column")
	}
	return r
}

func text(r row.Row) string {
	if !r.Exists() {
		return "<none>"
	}
	_, v := r.Column(0)
	return string(v)
}

// newWorld has one use case "users" and plain maps for memory.
func newWorld(t *testing.T, u UseCase) *world {
	t.Helper()
	catalog, err := proxy.NewCatalog(mapping("users", "users"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		catalog: catalog,
		source:  &fakeSource{rows: map[string]row.Row{}},
		stream:  &fakeStream{},
		clock:   &fakeClock{},
		users:   catalog.All()[0],
	}
	w.stream.w.Store(int64(proxy.Never))
	w.clock.set(1_000_000_000)
	w.Cache, err = build(catalog, w.source, w.stream, w.clock, Options{UseCases: []UseCase{u}}, 8, mapMemory)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) key(t testing.TB, text string) proxy.Key {
	t.Helper()
	k, err := w.catalog.Key([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Change is a change of the stream, wherever in it.
func (w *world) Change(key proxy.Key, image *proxy.Image) { w.Cache.Change(key, image, proxy.Record{}) }

func (w *world) read(t testing.TB, key string, f proxy.Freshness) proxy.Result {
	t.Helper()
	return w.readCtx(t, t.Context(), key, f)
}

func (w *world) readCtx(t testing.TB, ctx context.Context, key string, f proxy.Freshness) proxy.Result {
	t.Helper()
	results := make([]proxy.Result, 1)
	w.Load(ctx, []proxy.Request{{Key: w.key(t, key), Freshness: f}}, results)
	return results[0]
}

func (w *world) want(t testing.TB, res proxy.Result, v string, from proxy.Origin) {
	t.Helper()
	if res.Err != nil || text(res.Row) != v || res.Origin != from {
		t.Fatalf("got %q, %v, error %v; want %q, %v", text(res.Row), res.Origin, res.Err, v, from)
	}
}

// fakeSource answers from a map, at once or when gate lets it.
type fakeSource struct {
	mu    sync.Mutex
	rows  map[string]row.Row
	pos   uint64
	err   error
	calls atomic.Int64
	keys  atomic.Int64
	gate  chan struct{} // if not nil, a call takes its snapshot, then waits for one token
}

func (s *fakeSource) set(key, v string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pos++
	if v == "" {
		delete(s.rows, key)
		return
	}
	s.rows[key] = value(v)
}

func (s *fakeSource) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fakeSource) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	s.calls.Add(1)
	s.keys.Add(int64(len(reqs)))
	s.mu.Lock()
	for i, r := range reqs {
		results[i] = proxy.Result{
			Row: s.rows[string(r.Key.Text)], Err: s.err,
			Position: proxy.Position{Commit: s.pos + 1}, Primary: proxy.Identity{System: 1},
		}
	}
	gate := s.gate
	s.mu.Unlock()
	if gate == nil {
		return
	}
	select {
	case <-gate:
	case <-ctx.Done():
		for i := range results {
			results[i] = proxy.Result{Err: proxy.ErrUnavailable}
		}
	}
}

func (s *fakeSource) Apply(_ context.Context, writes []proxy.Write, results []proxy.Written) {
	for i, w := range writes {
		s.mu.Lock()
		err := s.err
		s.mu.Unlock()
		if err != nil {
			results[i].Err = err
			continue
		}
		v := ""
		if w.Op == proxy.Put {
			v = string(w.Fields[0].Value)
		}
		s.set(string(w.Key.Text), v)
	}
}

// fakeStream is a watermark that a test sets.
type fakeStream struct {
	w   atomic.Int64
	err error
}

func (s *fakeStream) Load() proxy.Time                       { return proxy.Time(s.w.Load()) }
func (s *fakeStream) Found(proxy.Identity, proxy.Time) error { return s.err }
func (s *fakeStream) reach(t proxy.Time)                     { s.w.Store(int64(t)) }

// fakeClock is a source clock that this node knows exactly.
type fakeClock struct{ t atomic.Int64 }

func (c *fakeClock) Bounds() (lo, hi proxy.Time) {
	t := proxy.Time(c.t.Load())
	return t, t
}
func (c *fakeClock) set(t proxy.Time)                { c.t.Store(int64(t)) }
func (c *fakeClock) advance(d time.Duration)         { c.t.Add(int64(d)) }
func (c *fakeClock) now() proxy.Time                 { return proxy.Time(c.t.Load()) }
func (c *fakeClock) back(d time.Duration) proxy.Time { return c.now().Add(-d) }

// mapMemory is memory without bounds and without surprises.
func mapMemory(int64, func(*entry)) (entries, error) {
	return &mapStore{m: map[uint64]*entry{}}, nil
}

type mapStore struct {
	mu sync.Mutex
	m  map[uint64]*entry
}

func (s *mapStore) Get(h uint64) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m[h]
}
func (s *mapStore) Has(h uint64) bool { return s.Get(h) != nil }
func (s *mapStore) Put(h uint64, e *entry, _ int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[h] = e
}
func (s *mapStore) Drop(h uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, h)
}
func (s *mapStore) Settle()              {}
func (s *mapStore) Used() (int64, int64) { return 0, 0 }
func (s *mapStore) Len() int64           { return 0 }
func (s *mapStore) Close()               {}

func field(v string) row.Field { return row.Field{Name: "v", Kind: row.Text, Value: []byte(v)} }

func counterValue(t testing.TB, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

func heapAlloc() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
