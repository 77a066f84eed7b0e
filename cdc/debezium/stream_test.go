package debezium

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A change reaches the topic before its row can be read. Changes of others and
// checkpoints are behind it.
func TestEarlyChange(t *testing.T) {
	for _, delay := range []time.Duration{5 * time.Millisecond, 500 * time.Millisecond, 10 * time.Second} {
		t.Run(delay.String(), func(t *testing.T) {
			play(t, 2, setup{}, func(w *world) {
				w.attach()
				if hits := w.lifted(4 * time.Second); hits < 100 {
					t.Errorf("before the change, %d hits", hits)
				}
				earlyChange(w, delay)
				if hits := w.lifted(6 * time.Second); hits < 100 {
					t.Errorf("after the change, %d hits", hits)
				}
				if n := w.applier.Status().Gaps; n != 0 {
					t.Errorf("%d gaps", n)
				}
			})
		})
	}
}

// earlyChange has a change of row 1 in the topic, that long before it is
// visible.
func earlyChange(w *world, delay time.Duration) {
	w.t.Helper()
	xid := w.begin()
	w.log(xid, 1, now())
	for begun := time.Now(); time.Since(begun) < delay; {
		w.write(2)
		w.must(10 * time.Millisecond)
		if v, _ := w.ask(1); v != 0 {
			w.t.Fatal("the new row was answered before anybody could read it")
		}
	}
	w.show(xid, 1)
}

// The topic is followed from behind a change that nobody can see yet, and that
// will not come: nothing drops what is read meanwhile.
func TestAttachBehindAnInvisibleChange(t *testing.T) {
	story := func(w *world) error {
		xid := w.begin()
		w.log(xid, 1, now())
		w.attach()
		w.must(3 * time.Second)
		w.show(xid, 1)
		return w.run(4 * time.Second)
	}
	play(t, 1, setup{}, func(w *world) {
		if err := story(w); err != nil {
			t.Fatal(err)
		}
		if hits := w.lifted(2 * time.Second); hits < 100 {
			t.Errorf("after all transactions have ended, %d hits", hits)
		}
		if w.barrier.pinned.Load() == 0 {
			t.Error("nothing was pinned")
		}
	})
	play(t, 1, setup{noBarrier: true}, func(w *world) {
		if err := story(w); !errors.Is(err, errOld) {
			t.Errorf("without the barrier: %v", err)
		}
	})
}

// A transaction that began before the topic was followed, and writes after,
// pins what is read until it has ended: nobody can know that it is no early one.
func TestLongTransactionPins(t *testing.T) {
	play(t, 1, setup{}, func(w *world) {
		xid := w.begin()
		w.attach()
		if hits := w.lifted(8 * time.Second); hits != 0 {
			t.Errorf("%d hits were lifted", hits)
		}
		if why := w.stream.Problem(); why == "" {
			t.Error("nobody is told that all is pinned")
		}
		w.log(xid, 1, now())
		w.show(xid, 1)
		w.must(3 * time.Second)
		if hits := w.lifted(3 * time.Second); hits < 100 {
			t.Errorf("%d hits afterwards", hits)
		}
		if why := w.stream.Problem(); why != "" {
			t.Error(why)
		}
	})
}

// A connector that was started again sends what it had sent before: changes
// that are far older than the last checkpoint, and checkpoints. The cache loses
// the keys of those changes, and nothing else.
func TestReplay(t *testing.T) {
	play(t, 2, setup{}, func(w *world) {
		w.attach()
		w.must(2 * time.Second)
		from := len(w.topic[0])
		w.write(2)
		if hits := w.lifted(5 * time.Second); hits < 100 {
			t.Errorf("before, %d hits", hits)
		}
		w.topic[0] = append(w.topic[0], w.topic[0][from:]...)
		before := w.metricOf("lies")
		hits := 0
		for range 3 {
			hits += w.lifted(time.Second)
			if w.applier.Status().Held {
				t.Error("the watermark holds")
			}
		}
		s := w.applier.Status()
		if hits < 300 || s.Gaps != 0 || w.metricOf("lies") != before {
			t.Errorf("%d hits, %d gaps, %v lies", hits, s.Gaps, w.metricOf("lies")-before)
		}
		if age := now().Sub(s.Watermark); age > 2*heartbeat {
			t.Errorf("the watermark is %v old", age)
		}
	})
}

// A change that is older than a checkpoint before it, with no re-sending around
// it, says that the checkpoint lied.
func TestLateChangeIsALie(t *testing.T) {
	play(t, 1, setup{}, func(w *world) {
		w.attach()
		w.must(3 * time.Second)
		xid := w.begin()
		w.log(xid, 1, now().Add(-2*time.Second))
		w.show(xid, 1)
		w.must(2 * heartbeat)
		if s := w.applier.Status(); !s.Held || w.metricOf("lies") != 1 {
			t.Errorf("held %t, %v lies", s.Held, w.metricOf("lies"))
		}
		w.must(12 * heartbeat)
		if w.applier.Status().Held {
			t.Error("ten clean checkpoints did not mend it")
		}
	})
}

// Rows of heartbeats do not come: nobody knows what else did not.
func TestMissingRowsAreAGap(t *testing.T) {
	play(t, 2, setup{}, func(w *world) {
		w.attach()
		w.must(2 * time.Second)
		raises := w.barrier.raises.Load()
		w.mute = true
		xid := w.begin()
		w.must(3 * heartbeat)
		w.mute = false
		w.must(3 * heartbeat)
		if n := w.applier.Status().Gaps; n != 2 {
			t.Errorf("%d gaps in two partitions", n)
		}
		if w.barrier.raises.Load() == raises {
			t.Error("what was missed may not be visible yet, and nothing is pinned")
		}
		if hits := w.lifted(4 * time.Second); hits != 0 {
			t.Errorf("%d hits were lifted while transactions go on that may have been missed", hits)
		}
		w.show(xid, 2)
		w.must(2 * time.Second)
		if hits := w.lifted(2 * time.Second); hits < 100 {
			t.Errorf("%d hits afterwards", hits)
		}
	})
}

// What is in the log of a partition begins at zero again: it is another log.
func TestOffsetZeroIsAGap(t *testing.T) {
	play(t, 1, setup{}, func(w *world) {
		w.attach()
		w.must(2 * time.Second)
		gaps := w.applier.Status().Gaps
		w.write(2)
		r := w.topic[0][len(w.topic[0])-1]
		w.read[0]++
		w.stream.Record(0, 0, []byte(r.key), []byte(r.value))
		w.must(time.Second)
		if n := w.applier.Status().Gaps - gaps; n != 1 {
			t.Errorf("%d gaps", n)
		}
	})
}

// Another fingerprint voids everything before its checkpoint counts, once for
// all partitions; rows that carry none, or one of other tables, have the node
// read the catalog itself.
func TestFingerprints(t *testing.T) {
	for name, test := range map[string]struct {
		covers string
		print  string
		alter  func(d *database)
	}{
		"in the rows":                 {"p", "p1", func(d *database) { d.print = "p2" }},
		"read by the node":            {"p", "", func(d *database) { d.catalog = "c2" }},
		"in rows of a narrower table": {"other", "p1", func(d *database) { d.catalog = "c2" }},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, setup{covers: test.covers}, func(w *world) {
				w.print = test.print
				w.attach()
				if hits := w.lifted(4 * time.Second); hits < 100 {
					t.Errorf("before, %d hits", hits)
				}
				m := w.catalog.All()[0].Mapping
				generation, voids := m.Generation(), w.metricOf("schema_changed")
				w.mu.Lock()
				test.alter(w.database)
				w.rows["users:1"] = "1" // rewritten, without a change in the log
				w.seen = append(w.seen, time.Now())
				w.mu.Unlock()
				w.must(3 * time.Second)
				if m.Generation() != generation+1 || w.metricOf("schema_changed") != voids+1 {
					t.Errorf("columns were forgotten %d times, %v schema changes", m.Generation()-generation, w.metricOf("schema_changed")-voids)
				}
			})
		})
	}
}

// A record of which nobody knows what it says voids its table, and pins what is
// read, as its transaction is not known.
func TestUndecodable(t *testing.T) {
	play(t, 1, setup{}, func(w *world) {
		w.attach()
		w.must(2 * time.Second)
		raises := w.barrier.raises.Load()
		w.ship(0, `{}`, `no JSON`)
		w.must(time.Second)
		kept := w.applier.Kept()
		if len(kept) != 1 || w.barrier.raises.Load() != raises+1 {
			t.Fatalf("kept %v, raised %d times", kept, w.barrier.raises.Load()-raises)
		}
		t.Log(kept[0].Reason)
		w.ship(0, `{"id":1}`, `{"op":"x","source":{"connector":"postgresql","schema":"public","table":"users","txId":5}}`)
		w.must(time.Second)
		if kept := w.applier.Kept(); len(kept) != 2 || kept[1].Table != "users" || w.barrier.raises.Load() != raises+1 {
			t.Errorf("of a known transaction: kept %v, raised %d times", kept, w.barrier.raises.Load()-raises)
		}
	})
}

// A primary that is away is asked again and again, and said so; nothing is
// applied meanwhile that it has not shown.
func TestPrimaryAway(t *testing.T) {
	play(t, 1, setup{}, func(w *world) {
		w.attach()
		w.must(2 * time.Second)
		w.mu.Lock()
		w.away = errors.New("no route")
		w.asked = 0
		w.mu.Unlock()
		w.write(1)
		w.must(10 * time.Second)
		if w.stream.Held() == 0 || w.stream.Problem() == "" {
			t.Errorf("%d held, problem %q", w.stream.Held(), w.stream.Problem())
		}
		if w.asked > 30 {
			t.Errorf("asked %d times in ten seconds", w.asked)
		}
		w.mu.Lock()
		w.away = nil
		w.mu.Unlock()
		w.must(time.Second)
		if w.stream.Held() != 0 || w.stream.Problem() != "" {
			t.Errorf("%d held, problem %q", w.stream.Held(), w.stream.Problem())
		}
	})
}

// Another server becomes the primary while changes wait: its numbers are its
// own, and it is asked for a new barrier.
func TestFailover(t *testing.T) {
	play(t, 1, setup{}, func(w *world) {
		w.attach()
		w.must(2 * time.Second)
		w.mu.Lock()
		w.id.Timeline, w.id.Started = 2, 9
		w.next -= 1000
		w.mu.Unlock()
		xid := w.begin() // the old primary has shown its number
		w.log(xid, 1, now())
		w.must(2 * time.Second)
		w.show(xid, 1)
		w.must(4 * time.Second)
		if hits := w.lifted(2 * time.Second); hits < 100 {
			t.Errorf("%d hits afterwards", hits)
		}
	})
}

// Too much is held: the topics wait, and go on; a node that ends meanwhile ends.
func TestFull(t *testing.T) {
	play(t, 1, setup{maxHeld: 10}, func(w *world) {
		w.attach()
		w.must(time.Second)
		xid := w.begin()
		w.log(xid, 1, now())
		for range 3 * inbound {
			w.write(2)
		}
		done := make(chan struct{})
		go func() { defer close(done); w.bring() }()
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case <-done:
			t.Error("everything was taken")
		default:
		}
		w.show(xid, 1)
		<-done
		w.must(3 * time.Second)
		if n := w.stream.Held(); n != 0 {
			t.Errorf("%d are held", n)
		}
	})
	play(t, 1, setup{maxHeld: 10}, func(w *world) {
		w.attach()
		xid := w.begin()
		for range 3 * inbound {
			w.log(xid, 1, now())
		}
		go w.bring() // ends with the stream
		time.Sleep(time.Second)
	})
}

// A source that cannot be asked: each record waits for as long as it may take,
// and so does what is read after the topics were attached to.
func TestLag(t *testing.T) {
	const lag = 400 * time.Millisecond
	for name, test := range map[string]struct {
		delay time.Duration
		good  bool
	}{"kept": {lag - 10*time.Millisecond, true}, "broken": {2 * lag, false}} {
		t.Run(name, func(t *testing.T) {
			play(t, 1, setup{lag: lag}, func(w *world) {
				w.attach()
				if hits := w.lifted(4 * time.Second); hits < 100 {
					t.Errorf("%d hits before", hits)
				}
				xid := w.begin()
				w.log(xid, 1, now())
				w.must(test.delay)
				w.show(xid, 1)
				if err := w.run(4 * time.Second); test.good != (err == nil) {
					t.Error(err)
				}
			})
		})
	}
	play(t, 1, setup{lag: lag}, func(w *world) {
		xid := w.begin()
		w.log(xid, 1, now())
		w.attach()
		w.must(lag - 10*time.Millisecond)
		w.show(xid, 1)
		w.must(4 * time.Second)
		if hits := w.lifted(2 * time.Second); hits < 100 {
			t.Errorf("%d hits afterwards", hits)
		}
	})
}

func TestBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, other := proxy.Identity{System: 1}, proxy.Identity{System: 2}
		b := NewBarrier(0)
		lets := func(of proxy.Identity, horizon uint64) bool {
			return b.lets(time.Now(), &proxy.Result{Primary: of, Horizon: horizon})
		}
		first := b.wants()
		if first == 0 || lets(a, 1<<63) {
			t.Error("it was not raised at first")
		}
		b.Raise()
		b.fall(first, a, 5)
		if b.wants() == 0 || lets(a, 1<<63) {
			t.Error("an answer that was asked for before it was raised made it fall")
		}
		b.fall(b.wants(), a, 5)
		if got := fmt.Sprint(lets(a, 4), lets(a, 5), lets(a, 6), lets(other, 6)); got != "false true true false" {
			t.Error(got)
		}
		b = NewBarrier(time.Second)
		time.Sleep(time.Second - 1)
		if b.wants() != 0 || lets(a, 0) {
			t.Error("it fell too early, or somebody is asked")
		}
		time.Sleep(time.Nanosecond)
		if !lets(a, 0) {
			t.Error("it did not fall")
		}
	})
}
