package cache

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// traced is the trace of a key without its times.
func (w *world) traced(t *testing.T, key string) string {
	t.Helper()
	times := regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	return strings.ReplaceAll(times.ReplaceAllString(strings.Join(w.Trace(w.key(t, key)), "\n"), "T"), "T ", "")
}

// What happened to a key is told in order, whoever made it happen.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, UseCase{Bound: time.Hour, NoRefresh: true, Timeout: time.Minute})
		key := w.key(t, "users:1")
		read := func() {
			w.read(t, "users:1", proxy.Freshness{})
			synctest.Wait()
			w.clock.advance(time.Second)
		}
		w.source.set("users:1", "a")
		read()
		w.Cache.Change(key, &proxy.Image{Row: value("bc"), Position: proxy.Position{Commit: 99, Seq: 1}, Commit: w.clock.now()}, proxy.Record{Partition: 3, Offset: 17})
		w.clock.advance(time.Second)
		w.Cache.Change(key, nil, proxy.Record{Partition: 3, Offset: 18})
		w.source.set("users:1", "")
		read()
		w.Void(w.users)
		w.clock.advance(time.Second)
		w.source.fail(proxy.ErrUnavailable)
		read()
		w.source.fail(nil)
		w.Invalidate(key)
		out := make([]proxy.Written, 1)
		w.Apply(t.Context(), []proxy.Write{{Key: key, Op: proxy.Delete}}, out)
		w.evicted(&entry{key: "users:1", row: value("a")})

		w.source.gate = make(chan struct{})
		go w.read(t, "users:1", proxy.Freshness{})
		synctest.Wait()
		w.Cache.Change(key, nil, proxy.Record{})
		w.source.gate <- struct{}{}
		synctest.Wait()
		w.source.gate = nil

		w.Watch(key)
		w.cases[0].rows.Drop(hashOf(key.Text))
		w.absences.Drop(hashOf(key.Text))
		w.Cache.Change(key, nil, proxy.Record{Partition: 1, Offset: 2})
		read()
		read()
		read()
		// A watched key has its newest 16 steps; the first fill has gone.
		const want = `fill answered and installed: 3 bytes, as of T, position 2/0
replaced by a change, partition 3, offset 17, position 99/1: 4 bytes
made void by a change, partition 3, offset 18
fill sent: changed, as of T
fill answered and installed: no such row, as of T, position 3/0
made void with all of its use case: epoch 1
fill sent: epoch, as of T
fill failed
made void by hand, or by a write through another node
made void by a write through this node
evicted: 3 bytes, as of T
fill sent: epoch, as of T
made void by a change, partition 0, offset 0
fill answered and not kept, as a change had passed it: no such row, position 4/0
nothing held, passed by a change, partition 1, offset 2
fill sent: evicted, as of T
fill answered and installed: no such row, as of T, position 4/0
last of 2 reads since T: hit
last of 1 reads since T: waited for a fill: evicted`
		if got := w.traced(t, "users:1"); got != want {
			t.Errorf("got\n%s", got)
		}
	})
}

// What others do does not push out what happened to a watched key, and a watch
// ends by itself.
func TestAWatchedKeyKeepsItsTrace(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Hour, NoRefresh: true})
	for _, key := range []string{"users:1", "users:2"} {
		w.source.set(key, "a")
		w.read(t, key, proxy.Freshness{})
	}
	w.Watch(w.key(t, "users:1"))
	for range stripeSteps {
		for i := range uint64(traceStripes) {
			w.trace.take(step{hash: i, what: stepDropped})
		}
	}
	if got := w.traced(t, "users:1"); !strings.Contains(got, "installed") {
		t.Errorf("of a watched key: %s", got)
	}
	if got := w.traced(t, "users:2"); got != "" {
		t.Errorf("of a key that is not watched, in a ring that is full of others: %s", got)
	}
	w.read(t, "users:1", proxy.Freshness{})
	w.Watch(w.key(t, "users:1")) // its reads stay
	if got := w.traced(t, "users:1"); !strings.Contains(got, "last of 1 reads") {
		t.Errorf("watched once more: %s", got)
	}
	w.clock.advance(watchFor + time.Second)
	w.read(t, "users:1", proxy.Freshness{})
	if w.trace.watchOf(hashOf([]byte("users:1"))) != nil {
		t.Error("a key is watched for ever")
	}
}

// Keys that are read and keys that are filled are both found again.
func TestSomeKey(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Hour, NoRefresh: true})
	if h := w.trace.any(1); h != 0 || w.trace.any(0) != 0 {
		t.Errorf("an empty trace knows a key: %x", h)
	}
	w.clock.set(batchesPerSample * 1000)
	w.source.set("users:1", "a")
	w.read(t, "users:1", proxy.Freshness{})
	w.clock.advance(1) // the reads of this nanosecond leave nothing
	w.read(t, "users:2", proxy.Freshness{})
	read, filled := map[uint64]bool{}, map[uint64]bool{}
	for i := range uint64(1 << 12) {
		read[w.trace.any(i<<1)] = true
		filled[w.trace.any(i<<1+1)] = true
	}
	one, two := hashOf([]byte("users:1")), hashOf([]byte("users:2"))
	if !read[one] || read[two] || !filled[one] || !filled[two] {
		t.Errorf("read %v, filled %v", read, filled)
	}
}

// Steps, watches and looks may come at once.
func TestTraceAtOnce(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Hour})
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 500 {
				key := w.key(t, fmt.Sprintf("users:%d", i%20))
				switch g {
				case 0:
					w.Watch(key)
				case 1:
					w.Trace(key)
				case 2:
					w.read(t, string(key.Text), proxy.Freshness{})
				case 3:
					w.Cache.Change(key, nil, proxy.Record{})
				}
			}
		})
	}
	group.Wait()
	w.fills.Wait()
}
