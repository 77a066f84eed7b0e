package cache

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

func (w *world) readUnkept(t *testing.T, key string) proxy.Result {
	t.Helper()
	results := make([]proxy.Result, 1)
	w.Load(t.Context(), []proxy.Request{{Key: w.key(t, key), Unkept: true}}, results)
	return results[0]
}

// What another node keeps is read each time, and its reason says so.
func TestUnkeptIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, UseCase{})
		w.source.set("users:1", "ada")
		for range 3 {
			w.want(t, w.readUnkept(t, "users:1"), "ada", proxy.FromFill)
			synctest.Wait() // or the next read shares this fill, which has landed and not left yet
		}
		if n := counterValue(t, w.metrics.fills[0][reasonUnkept]); n != 3 {
			t.Errorf("%v of 3 fills count as unkept", n)
		}
		if held := w.Peek(w.key(t, "users:1")); held.Holding != proxy.Absent {
			t.Errorf("held: %+v", held)
		}
	})
}

// What is here all the same is as good as for anybody, but is not kept young for
// those who do not keep it.
func TestUnkeptIsAHit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, UseCase{Bound: time.Second})
		w.source.set("users:1", "ada")
		w.read(t, "users:1", proxy.Freshness{})
		w.clock.advance(950 * time.Millisecond) // an own read would be refreshed ahead
		w.want(t, w.readUnkept(t, "users:1"), "ada", proxy.FromCache)
		synctest.Wait()
		if n := w.source.calls.Load(); n != 1 {
			t.Errorf("%d calls of the source: an unkept read began a refresh", n)
		}
		w.want(t, w.read(t, "users:1", proxy.Freshness{}), "ada", proxy.FromCache)
		synctest.Wait()
		if n := w.source.calls.Load(); n != 2 {
			t.Errorf("%d calls of the source: a kept read began no refresh", n)
		}
	})
}

// A read that wants it kept and shares the fill of one that does not has it kept,
// whether the fill runs or waits behind one.
func TestKeptJoinsUnkept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, UseCase{})
		w.source.set("users:1", "ada")
		w.source.gate = make(chan struct{})
		go w.readUnkept(t, "users:1")
		synctest.Wait()
		got := make(chan proxy.Result, 1)
		go func() { got <- w.read(t, "users:1", proxy.Freshness{}) }()
		synctest.Wait()
		w.source.gate <- struct{}{}
		w.want(t, <-got, "ada", proxy.FromFill)
		synctest.Wait()
		w.want(t, w.read(t, "users:1", proxy.Freshness{}), "ada", proxy.FromCache)
		if n := w.source.calls.Load(); n != 1 {
			t.Errorf("%d calls of the source: the read did not share", n)
		}

		w.Invalidate(w.key(t, "users:1"))
		go w.readUnkept(t, "users:1") // sent
		synctest.Wait()
		w.Invalidate(w.key(t, "users:1"))
		go w.readUnkept(t, "users:1") // waits behind it
		synctest.Wait()
		go func() { got <- w.read(t, "users:1", proxy.Freshness{}) }()
		synctest.Wait()
		w.source.gate <- struct{}{}
		w.source.gate <- struct{}{}
		w.want(t, <-got, "ada", proxy.FromFill)
		synctest.Wait()
		w.want(t, w.read(t, "users:1", proxy.Freshness{}), "ada", proxy.FromCache)
	})
}
