package route

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cache"
	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hot"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// alone is a tier as a node has it: rings, a placement by name, and peers.
type alone struct {
	rings *hashring.Rings
	peers map[string]Peer
	now   time.Time
}

func (a *alone) Now() Placement { return a }

func (a *alone) Owner(key []byte) Peer { return a.peers[a.rings.Owner(key, a.now)] }

func benchTier(b *testing.B) (*Route, *cache.Cache, func(own bool, n int) []proxy.Request) {
	b.Helper()
	w := &world{catalog: newCatalog(b, "users"), history: map[string][]version{}}
	n := &node{w: w}
	n.watermark.Store(time.Now().Add(time.Hour).UnixNano()) // entries do not age
	c, err := cache.New(w.catalog, still{rowOf("k", 1)}, n, n, cache.Options{UseCases: []cache.UseCase{{}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ended, cancel := context.WithCancel(b.Context())
		cancel()
		_ = c.Run(ended)
	})
	rings, err := hashring.New(hashring.Options{}, 1, []hashring.Member{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}, {Name: "c", Weight: 1}}, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	tier := &alone{rings: rings, now: time.Now(), peers: map[string]Peer{"b": &near{still{rowOf("k", 1)}}, "c": &near{still{rowOf("k", 1)}}}}
	pick := func(own bool, n int) (reqs []proxy.Request) {
		for i := 0; len(reqs) < n; i++ {
			key, _ := w.catalog.Key(fmt.Appendf(nil, "users:%d", i))
			if (tier.Owner(key.Text) == nil) == own {
				reqs = append(reqs, proxy.Request{Key: key})
			}
		}
		return reqs
	}
	return New(w.catalog, c, tier, Options{Hot: hot.Options{Share: 2}}), c, pick // nothing is hot
}

// still is a source that answers at once.
type still struct{ row row.Row }

func (s still) Load(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
	for i := range reqs {
		results[i] = proxy.Result{Row: s.row, Primary: proxy.Identity{System: 1}, Position: proxy.Position{Commit: 1}}
	}
}

func (still) Apply(context.Context, []proxy.Write, []proxy.Written) {}

// near is a peer that answers at once.
type near struct{ still }

func (n near) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) error {
	n.still.Load(ctx, reqs, results)
	return nil
}

func (near) Forget(context.Context, []proxy.Key) error { return nil }

// What a Route adds to hits of own keys.
func BenchmarkOwn(b *testing.B) {
	for _, n := range []int{1, 16} {
		r, c, pick := benchTier(b)
		reqs, results := pick(true, n), make([]proxy.Result, n)
		for _, path := range []struct {
			name string
			s    proxy.Source
		}{{"cache", c}, {"route", r}} {
			b.Run(fmt.Sprintf("keys=%d/%s", n, path.name), func(b *testing.B) {
				path.s.Load(b.Context(), reqs, results)
				b.ReportAllocs()
				for b.Loop() {
					path.s.Load(context.Background(), reqs, results)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/key")
			})
		}
	}
}

// What splitting costs, with peers that take no time.
func BenchmarkSplit(b *testing.B) {
	r, _, pick := benchTier(b)
	for _, shape := range []struct {
		name       string
		own, other int
	}{{"other=1", 0, 1}, {"other=16", 0, 16}, {"own=8,other=8", 8, 8}} {
		b.Run(shape.name, func(b *testing.B) {
			reqs := append(pick(true, shape.own), pick(false, shape.other)...)
			results := make([]proxy.Result, len(reqs))
			b.ReportAllocs()
			for b.Loop() {
				r.Load(context.Background(), reqs, results)
			}
		})
	}
}

func BenchmarkFloors(b *testing.B) {
	f := new(floors)
	b.ReportAllocs()
	for n := uint64(1); b.Loop(); n++ {
		f.raise(n*0x9E3779B97F4A7C15, proxy.Time(n)<<unitBits)
	}
}
