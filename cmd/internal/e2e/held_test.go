package e2e

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/cache"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/command"
	"github.com/freshet-cache/freshet/proxy/server"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// heldSource reads its one value when it is asked, and answers when the test
// lets it.
type heldSource struct {
	value  atomic.Value // string
	calls  atomic.Int64
	asked  chan struct{}
	answer chan struct{}
	schema *row.Schema
}

func (s *heldSource) Load(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
	s.calls.Add(1)
	for i := range reqs {
		r, _ := row.Encode(s.schema, []row.Field{{Name: "v", Kind: row.Text, Value: []byte(s.value.Load().(string))}})
		results[i] = proxy.Result{Row: r, Primary: proxy.Identity{System: 1}}
	}
	s.asked <- struct{}{}
	<-s.answer
}

func (s *heldSource) Apply(context.Context, []proxy.Write, []proxy.Written) {}

// still is a stream that has told nothing and a clock that stands.
type still struct{}

func (still) Load() proxy.Time                       { return proxy.Never }
func (still) Found(proxy.Identity, proxy.Time) error { return nil }
func (still) Bounds() (lo, hi proxy.Time)            { return 1, 1 }

type inspected struct{ *cache.Cache }

func (inspected) Lag() [][2]string { return nil }

func (i inspected) Invalidate(key proxy.Key) []string {
	i.Cache.Invalidate(key)
	return nil
}

func (i inspected) Void(u *proxy.UseCase) []string {
	i.Cache.Void(u)
	return nil
}

// Ten thousand reads of a cold key over a hundred connections, with a change
// when half of them have come, and the one who came first gone: two reads of
// the source, each reader with the value that was there when it came.
func TestHerdIsTwoReadsOfAHeldSource(t *testing.T) {
	const connections, each = 50, 100 // of each half
	source := &heldSource{asked: make(chan struct{}), answer: make(chan struct{}), schema: &row.Schema{Columns: []string{"v"}}}
	source.value.Store("old")
	mapping := &row.Mapping{Spec: row.Spec{Name: "k", Table: "t", Column: "v"}, Columns: []row.KeyColumn{{Name: "k"}}, Primary: true}
	mapping.Learn(0, source.schema)
	catalog, err := proxy.NewCatalog(mapping)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cache.New(catalog, source, still{}, still{}, cache.Options{UseCases: []cache.UseCase{{Timeout: patience}}})
	if err != nil {
		t.Fatal(err)
	}
	address := serveOver(t, catalog, c)
	shared := func(n int) { eventually(t, "the reads share a fill", func() bool { return int(joins(t, c)) == n }) }

	first := dial(t, address)
	if err := first.Send([]string{"GET", "k:1"}); err != nil {
		t.Fatal(err)
	}
	<-source.asked
	first.Close()
	var replies [2]map[string]int
	var herds sync.WaitGroup
	herds.Go(func() { replies[0] = herd(t, address, connections, each, "GET", "k:1") })
	shared(connections * each)
	source.value.Store("new")
	key, err := catalog.Key([]byte("k:1"))
	if err != nil {
		t.Fatal(err)
	}
	c.Change(key, nil, proxy.Record{})
	herds.Go(func() { replies[1] = herd(t, address, connections, each, "GET", "k:1") })
	shared(2 * connections * each)
	source.answer <- struct{}{}
	<-source.asked
	source.answer <- struct{}{}
	herds.Wait()
	for i, want := range []string{"old", "new"} {
		if len(replies[i]) != 1 || replies[i][want] != connections*each {
			t.Errorf("half %d: %v, want %q", i, replies[i], want)
		}
	}
	if n := source.calls.Load(); n != 2 {
		t.Errorf("%d reads of the source, want 2", n)
	}
}

// serveOver serves a cache on a port of its own until the test ends.
func serveOver(t *testing.T, catalog *proxy.Catalog, c *cache.Cache) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	commands := command.New(catalog, c, inspected{c}, command.Options{})
	s := server.New(commands, slog.New(slog.DiscardHandler), prometheus.NewRegistry(), server.Options{DrainTimeout: time.Second})
	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx, server.Listener{Listener: l}); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { end(); running.Wait() })
	return l.Addr().String()
}

// joins is how many reads shared a fill that another began.
func joins(t *testing.T, c *cache.Cache) (n float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "freshet_cache_joins_total" {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}
