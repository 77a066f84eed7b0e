package route

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cache"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hot"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// A tier in one process: real routes over real caches, a source whose history
// is known, streams that lag and stall, and links between the nodes that fail,
// delay, and disagree about the ring. It lives in a bubble, so its times are exact.

const (
	worldNodes   = 3
	worldKeys    = 5
	worldBound   = 500 * time.Millisecond
	worldTimeout = time.Second
)

var schema = &row.Schema{Columns: []string{"v"}}

func mapping(name string) *row.Mapping {
	m := &row.Mapping{
		Spec:    row.Spec{Name: name, Table: name, Key: []string{"id"}, Column: "v"},
		Columns: []row.KeyColumn{{Name: "id", Kind: row.KeyInt}},
		Primary: true,
	}
	m.Learn(0, schema)
	return m
}

func newCatalog(t testing.TB, names ...string) *proxy.Catalog {
	t.Helper()
	var all []*row.Mapping
	for _, name := range names {
		all = append(all, mapping(name))
	}
	c, err := proxy.NewCatalog(all...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// version is one committed state of a key.
type version struct {
	n       int
	visible time.Time
}

type world struct {
	catalog *proxy.Catalog
	nodes   [worldNodes]*node

	mu       sync.Mutex
	rng      *rand.Rand
	history  map[string][]version
	versions int
	failure  string
	stats    struct{ reads, forwarded, fallbacks, hot, hits, writes, unheard int }
}

// node is one node of the tier: as much of it as a route sees.
type node struct {
	w         *world
	id        int
	route     *Route
	cache     *cache.Cache
	ring      atomic.Int64 // by which it places keys
	watermark atomic.Int64
	links     [worldNodes]*link
	written   map[string]int // version of the last write through it that was answered
}

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{catalog: newCatalog(t, "users"), rng: rand.New(rand.NewPCG(seed, 5)), history: map[string][]version{}}
	for k := range worldKeys {
		w.history[keyText(k)] = []version{{}}
	}
	for i := range w.nodes {
		w.nodes[i] = &node{w: w, id: i, written: map[string]int{}}
	}
	for _, n := range w.nodes {
		n.watermark.Store(int64(proxy.Never))
		n.start(t)
		for i := range n.links {
			n.links[i] = &link{w: w, to: w.nodes[i]}
		}
	}
	return w
}

func (n *node) start(t testing.TB) {
	t.Helper()
	var err error
	n.cache, err = cache.New(n.w.catalog, worldSource{n.w}, n, n, cache.Options{
		Bytes:    64 << 20,
		UseCases: []cache.UseCase{{Bound: worldBound, Timeout: worldTimeout}},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.route = New(n.w.catalog, n.cache, n, Options{
		Timeouts: []time.Duration{worldTimeout},
		Hot:      hot.Options{Share: 0.6, Rate: 5},
	})
}

func keyText(k int) string { return "users:" + strconv.Itoa(k) }

func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

func (w *world) broken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure != ""
}

func (w *world) chance(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// pause takes up to most, to the nanosecond, so that no two things happen at once.
func (w *world) pause(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(time.Duration(w.chance(int(most))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Now, Owner: a placement that is another one for each ring.
func (n *node) Now() Placement { return placed{n, n.ring.Load()} }

type placed struct {
	n    *node
	ring int64
}

func (p placed) Owner(key []byte) Peer {
	k := int64(key[len(key)-1] - '0')
	owner := (k*7 + p.ring*3 + k*p.ring) % worldNodes
	if owner == int64(p.n.id) {
		return nil
	}
	return p.n.links[owner]
}

// Bounds is the node's clock: exact to a millisecond.
func (n *node) Bounds() (lo, hi proxy.Time) {
	now := proxy.Time(time.Now().UnixNano())
	return now.Add(-time.Millisecond), now.Add(time.Millisecond)
}

// Load, Found: the node's stream.
func (n *node) Load() proxy.Time                       { return proxy.Time(n.watermark.Load()) }
func (n *node) Found(proxy.Identity, proxy.Time) error { return nil }

// follow applies the changes of the stream, late and now and then very late.
func (n *node) follow(ctx context.Context) {
	applied := map[string]int{}
	for n.w.pause(ctx, 100*time.Millisecond) == nil {
		if n.w.chance(60) == 0 && n.w.pause(ctx, 3*time.Second) != nil {
			return
		}
		at := time.Now()
		if n.w.pause(ctx, 150*time.Millisecond) != nil {
			return
		}
		for k := range worldKeys {
			n.apply(keyText(k), at, applied)
		}
		n.watermark.Store(at.UnixNano())
	}
}

func (n *node) apply(key string, at time.Time, applied map[string]int) {
	n.w.mu.Lock()
	changes := n.w.history[key][applied[key]+1:]
	n.w.mu.Unlock()
	for _, v := range changes {
		if v.visible.After(at) {
			return
		}
		k, _ := n.w.catalog.Key([]byte(key))
		n.cache.Change(k, nil, proxy.Record{})
		applied[key]++
	}
}

// worldSource is the source, which is slow now and then.
type worldSource struct{ w *world }

func (s worldSource) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	err := s.w.pause(ctx, s.w.latency())
	for i := range reqs {
		results[i] = proxy.Result{Primary: proxy.Identity{System: 1}, Position: proxy.Position{Commit: 1}}
		if err != nil {
			results[i].Err = proxy.ErrUnavailable
			continue
		}
		results[i].Row = rowOf(string(reqs[i].Key.Text), s.w.current(string(reqs[i].Key.Text)))
	}
	_ = s.w.pause(ctx, 5*time.Millisecond)
}

func (w *world) latency() time.Duration {
	if w.chance(30) == 0 {
		return 300 * time.Millisecond
	}
	return 10 * time.Millisecond
}

func (w *world) current(key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.history[key]
	return h[len(h)-1].n
}

func (s worldSource) Apply(ctx context.Context, writes []proxy.Write, results []proxy.Written) {
	_ = s.w.pause(ctx, 5*time.Millisecond)
	s.w.mu.Lock()
	for i := range writes {
		n, _ := strconv.Atoi(string(writes[i].Fields[0].Value))
		key := string(writes[i].Key.Text)
		s.w.history[key] = append(s.w.history[key], version{n: n, visible: time.Now()})
		results[i].Done = true
	}
	s.w.mu.Unlock()
	_ = s.w.pause(ctx, 5*time.Millisecond)
}

func rowOf(key string, n int) row.Row {
	if n == 0 {
		return row.Row{}
	}
	r, _ := row.Encode(schema, []row.Field{{Name: "v", Kind: row.Text, Value: fmt.Appendf(nil, "%s/%d", key, n)}})
	return r
}

// versionIn is the version in a row of a key.
func versionIn(r row.Row, key string) (n int, ok bool) {
	if !r.Exists() {
		return 0, true
	}
	_, v := r.Column(0)
	of, text, _ := strings.Cut(string(v), "/")
	n, err := strconv.Atoi(text)
	return n, err == nil && of == key
}

// link is the way from one node to another.
type link struct {
	w    *world
	to   *node
	down atomic.Bool
}

type hopped struct{}

func (l *link) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) error {
	if ctx.Value(hopped{}) != nil {
		l.w.fail("a request goes over two hops")
	}
	if err := l.way(ctx); err != nil {
		return err
	}
	theirs := make([]proxy.Request, len(reqs))
	for i := range reqs {
		theirs[i] = reqs[i]
		theirs[i].Key.Text = append([]byte(nil), reqs[i].Key.Text...)
		theirs[i].Unkept = false
	}
	out := make([]proxy.Result, len(reqs))
	l.to.route.Forwarded().Load(context.WithValue(ctx, hopped{}, true), theirs, out)
	if err := l.way(ctx); err != nil { // the reply is lost
		return err
	}
	if l.w.chance(20) == 0 {
		out[l.w.chance(len(out))] = proxy.Result{Err: proxy.ErrUnavailable}
	}
	copy(results, out)
	return nil
}

func (l *link) Forget(ctx context.Context, keys []proxy.Key) error {
	err := l.way(ctx)
	if err == nil && l.w.chance(3) == 0 {
		err = proxy.ErrUnavailable
	}
	if err != nil {
		l.w.mu.Lock()
		l.w.stats.unheard++
		l.w.mu.Unlock()
		return err
	}
	l.to.route.Forwarded().Forget(keys)
	return l.w.pause(ctx, time.Millisecond)
}

// way is one way over the link.
func (l *link) way(ctx context.Context) error {
	if l.down.Load() {
		return proxy.ErrUnavailable
	}
	switch l.w.chance(40) {
	case 0:
		return proxy.ErrShed
	case 1:
		return proxy.ErrUnknownUseCase
	case 2:
		return l.w.pause(ctx, 2*time.Second)
	}
	return l.w.pause(ctx, 2*time.Millisecond)
}
