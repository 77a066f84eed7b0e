package cache

import (
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// wideClock is known only within an interval that the time lies in.
type wideClock struct {
	*fakeClock
	half time.Duration
}

func (c wideClock) Bounds() (lo, hi proxy.Time) {
	return c.now().Add(-c.half), c.now().Add(c.half)
}

// twoNodes are two caches over one source, with a stream each. Clocks are known
// within a millisecond.
func twoNodes(t *testing.T) (a, b *world) {
	u := UseCase{Bound: time.Hour, NoRefresh: true}
	a, b = newWorld(t, u), newWorld(t, u)
	b.source, b.clock = a.source, a.clock
	b.next = a.source
	a.Cache.clock = wideClock{a.clock, time.Millisecond}
	b.Cache.clock = a.Cache.clock
	return a, b
}

// A session that goes from one node to another carries the upper time of what
// it has read. Its as-of would let it go back:
//
//  1. node b has the old row, and its stream has come so far that the row is
//     known to be no older than half a millisecond ago
//  2. the row changes; node a reads the new one, with an as-of of a millisecond
//     ago, which is as well as it knows the source's clock
//  3. b's row is not older than that as-of
func TestASessionOverTwoNodesNeverGoesBack(t *testing.T) {
	a, b := twoNodes(t)
	a.source.set("users:1", "old")
	b.want(t, b.read(t, "users:1", proxy.Freshness{}), "old", proxy.FromFill)
	a.clock.advance(time.Second)
	b.stream.reach(a.clock.back(500 * time.Microsecond))
	a.source.set("users:1", "new")
	seen := a.read(t, "users:1", proxy.Freshness{})
	a.want(t, seen, "new", proxy.FromFill)

	b.want(t, b.read(t, "users:1", proxy.Freshness{Token: seen.AsOf}), "old", proxy.FromCache)
	b.want(t, b.read(t, "users:1", proxy.Freshness{Token: seen.Upper}), "new", proxy.FromFill)
}

// So does one that has read what a change left behind, or an entry of a while
// ago.
func TestUpperTimes(t *testing.T) {
	a, b := twoNodes(t)
	a.source.set("users:1", "old")
	a.read(t, "users:1", proxy.Freshness{})
	b.read(t, "users:1", proxy.Freshness{})
	a.clock.advance(time.Second)
	b.stream.reach(a.clock.now() + 1) // a commit is visible later than its time, here behind that checkpoint
	a.source.set("users:1", "new")
	a.Change(a.key(t, "users:1"), &proxy.Image{Row: value("new"), Position: proxy.Position{Commit: 99}, Commit: a.clock.now()})
	seen := a.read(t, "users:1", proxy.Freshness{})
	a.want(t, seen, "new", proxy.FromCache)
	b.want(t, b.read(t, "users:1", proxy.Freshness{Token: seen.AsOf}), "old", proxy.FromCache)
	b.want(t, b.read(t, "users:1", proxy.Freshness{Token: seen.Upper}), "new", proxy.FromFill)

	// An entry's upper time is not that of the read, or a session would find no
	// hits behind its own.
	a.clock.advance(time.Hour / 2)
	a.stream.reach(a.clock.back(time.Second))
	again := a.read(t, "users:1", proxy.Freshness{Token: seen.Upper})
	a.want(t, again, "new", proxy.FromCache)
	if again.Upper != seen.Upper {
		t.Errorf("the upper time of a hit has moved by %v", again.Upper.Sub(seen.Upper))
	}
}

// While the source is away, a session gets what its use case allows, but
// nothing older than it has seen.
func TestASessionWhileTheSourceIsAway(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Second, MaxStale: time.Minute, NoRefresh: true})
	w.source.set("users:1", "a")
	filled := w.read(t, "users:1", proxy.Freshness{})
	w.clock.advance(10 * time.Second)
	w.source.fail(proxy.ErrUnavailable)
	w.want(t, w.read(t, "users:1", proxy.Freshness{Token: filled.Upper}), "a", proxy.FromStale)
	if res := w.read(t, "users:1", proxy.Freshness{Token: filled.Upper + 1}); res.Err == nil {
		t.Errorf("something older than the token: %q", text(res.Row))
	}
	w.stream.reach(filled.Upper + 5)
	w.want(t, w.read(t, "users:1", proxy.Freshness{Token: filled.Upper + 5}), "a", proxy.FromStale)
}
