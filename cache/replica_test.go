package cache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// lagging is a source whose replica is so far behind, and shows the row that old
// gives; the primary shows what is.
type lagging struct {
	pinning
	old string
}

func (l lagging) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	if reqs[0].Primary {
		l.fakeSource.Load(ctx, reqs, results)
		return
	}
	l.pinning.Load(ctx, reqs, results)
	for i := range results {
		results[i].Row = value(l.old)
	}
}

// B17: a fill from a replica that is further behind than the bound. The primary is
// asked: its answer is served, lifted, and no answer of the replica takes its
// place.
func TestReplicaThatIsTooFarBehindIsOvertaken(t *testing.T) {
	w := newWorld(t, UseCase{Bound: 2 * time.Second})
	w.clock.set(100_000_000_000)
	w.Cache.next = lagging{pinning{w.source, w.clock, 3 * time.Second}, "old"}
	w.source.set("users:1", "new")
	res := w.read(t, "users:1", proxy.Freshness{})
	w.want(t, res, "new", proxy.FromFill)
	if res.Pinned || res.AsOf != w.clock.now() {
		t.Errorf("the primary's answer: %+v", res)
	}
	w.clock.advance(time.Hour)
	w.stream.reach(w.clock.now())
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "new", proxy.FromCache)

	w.Cache.next = lagging{pinning{w.source, w.clock, time.Second}, "old"}
	w.clock.advance(1900 * time.Millisecond) // a refresh ahead, which the replica answers
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "new", proxy.FromCache)
	w.fills.Wait()
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "new", proxy.FromCache) // and begins the next, which is not to pass the change
	w.fills.Wait()
	w.Change(w.key(t, "users:1"), nil)
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "old", proxy.FromFill) // a second old, as the bound allows

	w.source.err = proxy.ErrUnavailable
	w.Cache.next = downAbove{lagging{pinning{w.source, w.clock, 3 * time.Second}, "older"}}
	w.Change(w.key(t, "users:1"), nil)
	if res := w.read(t, "users:1", proxy.Freshness{}); !errors.Is(res.Err, proxy.ErrUnavailable) {
		t.Errorf("with the primary away: %+v", res)
	}
	w.want(t, w.read(t, "users:1", proxy.Freshness{MaxStale: 10 * time.Second}), "older", proxy.FromCache) // that fill is kept
}

// A replica is young enough for what a use case asks for, and not for one read of
// it: that read has the primary's answer, whether it begins the fill or shares one
// that is yet to be sent. One that comes too late for that has the next fill.
func TestReplicaThatIsTooFarBehindForARead(t *testing.T) {
	for name, stricter := range map[string]proxy.Freshness{
		"as fresh as the source": {Strong: true},
		"a bound of its own":     {MaxStale: 100 * time.Millisecond},
	} {
		for state, before := range map[string]int{"no fill": 0, "a fill that is sent": 1, "one that waits besides": 2} {
			t.Run(name+", "+state, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, UseCase{Bound: 2 * time.Second})
					w.clock.set(100_000_000_000)
					w.key(t, "users:1").UseCase.Mapping.Replica = true
					w.source.set("users:1", "new")
					w.Cache.next = slowly(lagging{pinning{w.source, w.clock, time.Second}, "old"}, func() { time.Sleep(time.Millisecond) })
					done := make(chan string)
					for i := range before {
						go func() {
							if i > 0 {
								w.Change(w.key(t, "users:1"), nil) // no read shares what is sent
							}
							done <- text(w.read(t, "users:1", proxy.Freshness{}).Row)
						}()
						synctest.Wait()
					}
					go func() { done <- "stricter " + text(w.read(t, "users:1", stricter).Row) }()
					got := map[string]int{}
					for range before + 1 {
						got[<-done]++
					}
					if got["stricter new"] != 1 || got["old"] != min(before, 1) {
						t.Errorf("%v", got)
					}
				})
			})
		}
	}
}

// downAbove is a replica whose primary is away.
type downAbove struct{ lagging }

func (d downAbove) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	d.lagging.Load(ctx, reqs, results)
	for i := range results {
		if !reqs[0].Primary {
			results[i].Err = nil
		}
	}
}

// While the stream stands, and at the end of ttl_max, an entry of the primary that
// nobody may be served keeps no answer of a replica out.
func TestReplicaFollowsWhatNobodyMayBeServed(t *testing.T) {
	for name, pass := range map[string]func(w *world){
		"the stream stands": func(w *world) { w.clock.advance(3 * time.Second) },
		"the end of ttl_max": func(w *world) {
			w.clock.advance(2 * time.Hour)
			w.stream.reach(w.clock.now())
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, UseCase{Bound: 2 * time.Second, TTLMax: time.Hour})
			w.clock.set(100_000_000_000)
			w.source.set("users:1", "new")
			w.want(t, w.read(t, "users:1", proxy.Freshness{}), "new", proxy.FromFill)
			w.Cache.next = lagging{pinning{w.source, w.clock, time.Second}, "old"}
			pass(w)
			w.want(t, w.read(t, "users:1", proxy.Freshness{}), "old", proxy.FromFill)
			w.want(t, w.read(t, "users:1", proxy.Freshness{}), "old", proxy.FromCache)
		})
	}
}
