package peer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// hits answers as a cache does that has every key: at once, with what it has.
type hits struct {
	node
	kept proxy.Result
}

func (h *hits) Load(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
	for i := range reqs {
		results[i] = h.kept
	}
}

func benchPeer(b *testing.B) (*Peer, *proxy.Catalog, *hits) {
	h := &hits{kept: proxy.Result{Row: rowOf(oneColumn, "a value of some forty bytes, as rows have"), AsOf: 1, Upper: 2, Origin: proxy.FromCache}}
	_, address, _ := serving(b, h, options(b, "b"))
	own := options(b, "a")
	pool, _ := pooling(b, own)
	to := pool.To("b", address)
	if _, err := to.Ask(patience(b)); err != nil {
		b.Fatal(err)
	}
	return to, own.Catalog, h
}

// One caller after the other: the round trip.
func BenchmarkLoad(b *testing.B) {
	for _, keys := range []int{1, 16} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			to, catalog, _ := benchPeer(b)
			reqs, results := batch(b, catalog, keys), make([]proxy.Result, keys)
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			b.ReportAllocs()
			used := cpu()
			for b.Loop() {
				if err := to.Load(ctx, reqs, results); err != nil {
					b.Fatal(err)
				}
			}
			reportCPU(b, used)
		})
	}
}

// 64 callers: what the combined writes carry, beside a direct call.
func BenchmarkLoad64(b *testing.B) {
	for _, keys := range []int{1, 16} {
		to, catalog, h := benchPeer(b)
		reqs := batch(b, catalog, keys)
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		for name, load := range map[string]func(results []proxy.Result) error{
			"peer":   func(results []proxy.Result) error { return to.Load(ctx, reqs, results) },
			"direct": func(results []proxy.Result) error { h.Load(ctx, reqs, results); return nil },
		} {
			b.Run(fmt.Sprintf("%s/keys=%d", name, keys), func(b *testing.B) {
				b.ReportAllocs()
				used := cpu()
				var left atomic.Int64
				left.Store(int64(b.N))
				var callers sync.WaitGroup
				for range 64 {
					callers.Go(func() {
						results := make([]proxy.Result, keys)
						for left.Add(-1) >= 0 {
							if err := load(results); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				callers.Wait()
				reportCPU(b, used)
				b.ReportMetric(float64(b.N*keys)/b.Elapsed().Seconds(), "keys/s")
			})
		}
	}
}

// cpu is the processor time of this process. What others leave of a machine
// does not change it as it changes ns/op.
func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func reportCPU(b *testing.B, before time.Duration) {
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
}

func batch(t testing.TB, catalog *proxy.Catalog, keys int) []proxy.Request {
	var texts []string
	for i := range keys {
		texts = append(texts, fmt.Sprintf("users:%d", i))
	}
	return reads(t, catalog, texts...)
}
