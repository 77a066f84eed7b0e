package audit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// What becomes of a change whose entry is looked at a second after it. Before
// that look the source has b; what is held, and what becomes of it, says each
// case.
func TestVerdicts(t *testing.T) {
	const everyTime = "consistent 10m 1, consistent 1m 1, consistent 1s 1, consistent 5m 1, consistent 5s 1, consistent bound 1"
	for _, c := range []struct {
		name       string
		story      func(w *world)
		looks      string
		suspicions string
		violations string
		changes    string
	}{
		{"nothing is held", func(w *world) {}, "absent 1", "", "", everyTime},
		{"it is void", func(w *world) {
			w.hold("users:1", "a", 1, 0)
			w.set("users:1", func(h *proxy.Held) { h.Holding = proxy.Void })
		}, "void 1", "", "", everyTime},
		{"it is outside the bound", func(w *world) {
			w.hold("users:1", "a", 1, 0)
			w.set("users:1", func(h *proxy.Held) { h.Holding = proxy.Aged })
		}, "aged 1", "", "", everyTime},
		{"it is pinned", func(w *world) {
			w.hold("users:1", "a", 1, 0)
			w.set("users:1", func(h *proxy.Held) { h.Pinned = true })
		}, "pinned 1", "", "", everyTime},
		{"it equals the source", func(w *world) { w.hold("users:1", "b", 1, 0) }, "equal 1", "", "", everyTime},
		{"the change comes a moment later", func(w *world) {
			w.hold("users:1", "a", 1, 0)
			w.pass(1150 * time.Millisecond)
			w.set("users:1", func(h *proxy.Held) { h.Holding = proxy.Void })
		}, "differs 1", "settled 1", "", everyTime},
		{"the row goes back: another entry has the old value", func(w *world) {
			w.hold("users:1", "a", 1, 0)
			w.pass(1150 * time.Millisecond)
			w.hold("users:1", "a", 2, 0)
		}, "differs 1", "settled 1", "", everyTime},
		{"the stream is slow, within the bound", func(w *world) {
			w.hold("users:1", "a", 1, 0)
			w.pass(1900 * time.Millisecond)
			w.set("users:1", func(h *proxy.Held) { h.Holding = proxy.Void })
		}, "differs 1", "settled 1", "",
			"inconsistent 1s 1, " + strings.ReplaceAll(everyTime, "consistent 1s 1, ", "")},
		{"the entry leaves the bound and is replaced then", func(w *world) {
			w.hold("users:1", "a", 1, 0)
			w.pass(1150 * time.Millisecond)
			w.set("users:1", func(h *proxy.Held) { h.Holding = proxy.Aged })
			w.pass(time.Minute)
			w.hold("users:1", "b", 2, 0)
		}, "differs 1", "settled 1", "", everyTime},
		{"it claims too much for a moment", func(w *world) {
			w.hold("users:1", "a", 1, 0)
			w.pass(1050 * time.Millisecond)
			w.set("users:1", func(h *proxy.Held) { h.AsOf = h.AsOf.Add(time.Hour) })
			w.pass(100 * time.Millisecond)
			w.set("users:1", func(h *proxy.Held) { h.Holding = proxy.Void })
		}, "differs 1", "fleeting 1", "", everyTime},
		{"it claims too much", func(w *world) {
			w.hold("users:1", "a", 1, -time.Hour)
			w.pass(30 * time.Second)
			w.hold("users:1", "b", 2, 0)
		}, "differs 1, equal 1", "violation 1", "change 1",
			"consistent 10m 1, inconsistent 1s 1, consistent 1m 1, inconsistent 5s 1, consistent 5m 1, inconsistent bound 1"},
		{"it claims too much, and the row has gone back", func(w *world) {
			w.hold("users:1", "a", 1, -time.Hour)
			w.pass(1050 * time.Millisecond)
			w.locked(func() { w.rows["users:1"] = "a" })
		}, "differs 1", "fleeting 1", "", everyTime},
		{"it claims too much, and the source is away", func(w *world) {
			w.hold("users:1", "a", 1, -time.Hour)
			w.pass(1050 * time.Millisecond)
			w.locked(func() { w.err = proxy.ErrUnavailable })
			w.pass(10 * time.Second)
			w.locked(func() { w.err = nil })
			w.pass(10 * time.Second)
			w.hold("users:1", "b", 2, 0)
		}, "differs 1, equal 1", "violation 1", "change 1",
			"consistent 10m 1, inconsistent 1s 1, consistent 1m 1, inconsistent 5s 1, consistent 5m 1, inconsistent bound 1"},
		{"it leaves the bound and claims too much then", func(w *world) {
			w.hold("users:1", "a", 1, 0)
			w.pass(1150 * time.Millisecond)
			w.set("users:1", func(h *proxy.Held) { h.Holding = proxy.Aged })
			w.pass(10 * time.Second)
			w.set("users:1", func(h *proxy.Held) { h.Holding, h.AsOf = proxy.Served, h.AsOf.Add(time.Hour) })
		}, "differs 1", "violation 1", "change 1", everyTime},
		{"an old primary answers", func(w *world) {
			w.hold("users:1", "a", 1, -time.Hour)
			w.locked(func() { w.foreign = errors.New("not the primary") })
			w.pass(1500 * time.Millisecond)
			w.locked(func() { w.foreign, w.rows["users:1"] = nil, "a" })
		}, "equal 1, failed 1", "", "",
			"consistent 10m 1, consistent 1m 1, consistent 5m 1, consistent 5s 1, consistent bound 1, late 1s 1"},
		{"the source does not answer", func(w *world) {
			w.hold("users:1", "a", 1, -time.Hour)
			w.locked(func() { w.err = proxy.ErrUnavailable })
		}, "failed 122", "", "", "late 10m 1, late 1m 1, late 1s 1, late 5m 1, late 5s 1, late bound 1"},
		{"the source's clock goes back", func(w *world) {
			w.hold("users:1", "a", 1, 0)
			w.pass(1050 * time.Millisecond)
			w.locked(func() { w.shift = -time.Hour })
			w.set("users:1", func(h *proxy.Held) { h.AsOf = h.AsOf.Add(time.Hour) })
		}, "differs 1", "given_up 1", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			audited(t, Options{}, func(w *world) {
				w.locked(func() { w.rows["users:1"] = "b" })
				w.change("1")
				c.story(w)
				w.pass(11 * time.Minute)
				for name, want := range map[string]string{
					"looks": c.looks, "suspicions": c.suspicions, "violations": c.violations, "changes": c.changes, "dropped": "",
				} {
					if got := w.counts(name); sorted(got) != sorted(want) {
						t.Errorf("%s: got %q, want %q", name, got, want)
					}
				}
			})
		})
	}
}

func sorted(s string) string {
	parts := strings.Split(s, ", ")
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// A violation is told once, with all that helps to find its cause and nothing
// that must not be in a log, and followed until its entry is gone.
func TestViolation(t *testing.T) {
	audited(t, Options{}, func(w *world) {
		w.hold("users:1", "secret-a", 1, -time.Hour)
		w.locked(func() { w.rows["users:1"], w.any = "secret-b", "users:1" }) // so that it is found in both ways, again and again
		w.change("1")
		w.pass(5 * time.Second)
		all := w.Violations()
		if len(all) != 1 {
			t.Fatalf("%d violations", len(all))
		}
		v := all[0]
		if v.Key != "users:1" || v.UseCase != "users" || v.Hash != "000000000000feed" || v.Trace[0] != "what happened" ||
			v.Held != "10 bytes" || v.Source != "10 bytes" || v.AsOf <= v.SourceRead || v.Gone != "" {
			t.Errorf("got %+v", v)
		}
		log := w.log.String()
		if strings.Count(log, "\n") != 1 || !strings.Contains(log, "000000000000feed") || !strings.Contains(log, "what happened") {
			t.Errorf("log: %s", log)
		}
		if strings.Contains(log, "users:1") || strings.Contains(log, "secret") {
			t.Errorf("the log tells a key or a value: %s", log)
		}
		if w.watched[0] != "users:1" {
			t.Error("a suspect is not watched")
		}
		w.locked(func() { w.any = "" })
		w.pass(5 * time.Minute)
		if v = w.Violations()[0]; v.Gone != "" {
			t.Errorf("still there, and told gone: %+v", v)
		}
		w.hold("users:1", "secret-b", 2, 0)
		w.pass(6 * time.Minute)
		after := w.Violations()[0]
		if after.Gone == "" || after.LastSeen < v.LastSeen {
			t.Errorf("gone, and not told so: %+v", after)
		}
	})
}

// What never came is in no stream; but the key is held.
func TestWhatNoChangeTold(t *testing.T) {
	audited(t, Options{}, func(w *world) {
		w.hold("users:1", "a", 1, -time.Hour)
		w.locked(func() { w.rows["users:1"], w.any = "b", "users:1" })
		w.pass(time.Second)
		if got := w.counts("violations"); got != "entry 1" {
			t.Errorf("violations: %q", got)
		}
		if got := w.counts("changes"); got != "" {
			t.Errorf("a change that nobody made: %q", got)
		}
		if v := w.Violations(); v[0].By != "entry" || v[0].Change != "" {
			t.Errorf("got %+v", v[0])
		}
	})
}

// However much there is to do, the source is read no faster than allowed,
// and both changes and what is held have their share.
func TestTheSourceIsNotFlooded(t *testing.T) {
	const rate, seconds = 20, 30
	audited(t, Options{ReadsPerSecond: rate}, func(w *world) {
		for i := range 4000 {
			key := "users:" + strconv.Itoa(i)
			w.hold(key, "a", 1, 0)
			w.locked(func() { w.rows[key] = "a" })
		}
		w.locked(func() { w.any = "users:7" })
		for i := range 2000 {
			w.change(strconv.Itoa(i))
		}
		w.pass(seconds * time.Second)
		w.locked(func() {
			if w.reads > rate*(seconds+1) || w.reads < rate*(seconds-2) {
				t.Errorf("%d keys were read in %d s, at %d a second", w.reads, seconds, rate)
			}
		})
		if w.judged("10m", "consistent") == 0 || w.counts("dropped") != "" {
			t.Errorf("changes: %s, dropped: %q", w.counts("changes"), w.counts("dropped"))
		}
		if w.picks < rate*seconds/3 {
			t.Errorf("what is held had %d of %d reads", w.picks, w.reads)
		}
	})
}

// judged is how many changes had that outcome.
func (w *world) judged(within, outcome string) (n int) {
	for _, s := range strings.Split(w.counts("changes"), ", ") {
		var o, in string
		var count int
		if _, err := fmt.Sscan(s, &o, &in, &count); err == nil && in == within && o == outcome {
			n += count
		}
	}
	return n
}

// wantAll wants what was followed to stand for about n changes.
func (w *world) wantAll(t *testing.T, within string, n int) {
	t.Helper()
	all := 0
	for _, outcome := range []string{"consistent", "inconsistent", "late"} {
		got := w.judged(within, outcome)
		t.Logf("%s: %d of %d", outcome, got, n)
		all += got
	}
	if all < n*8/10 || all > n*12/10 {
		t.Errorf("what was followed stands for %d of %d changes", all, n)
	}
}

// However many changes come, those that are left out are so by no merit of
// theirs, and others stand for them: what is counted is as if all had been
// followed, in time. Here every second change takes longer than a second.
func TestTooManyChangesToRead(t *testing.T) {
	const rate, seconds, perSecond = 20, 120, 200
	audited(t, Options{ReadsPerSecond: rate}, func(w *world) {
		n := 0
		for range seconds {
			for range perSecond {
				n++
				key := "users:" + strconv.Itoa(n)
				w.hold(key, strconv.Itoa(n%2), 1, 0) // an odd one differs
				w.locked(func() { w.rows[key] = "0" })
				w.change(strconv.Itoa(n))
			}
			if fewer := w.counts("followed_ratio"); fewer == "1" && n > 10*perSecond {
				t.Fatal("all are followed still")
			}
			w.pass(time.Second)
			w.locked(func() {
				for i := n - 3*perSecond; i > 0 && i <= n-2*perSecond; i++ { // the stream has come
					delete(w.held, "users:"+strconv.Itoa(i))
				}
			})
		}
		w.pass(20 * time.Second)
		w.wantAll(t, "1s", n)
		if late := w.judged("1s", "late"); late > n/10 {
			t.Errorf("%d were looked at too late: as many are followed as before", late)
		}
		odd, even := w.judged("1s", "inconsistent"), w.judged("1s", "consistent")
		if share := float64(odd) / float64(odd+even); share < 0.45 || share > 0.55 {
			t.Errorf("%.2f of the changes took longer than a second, want half", share)
		}
		if w.reads > rate*(seconds+21) {
			t.Errorf("%d reads of the source", w.reads)
		}
		w.pass(5 * time.Minute)
		if got := w.counts("followed_ratio"); got != "1" {
			t.Errorf("all is quiet, and %s of the changes are followed", got)
		}
	})
}

// One read answers for all changes of a key that are due.
func TestManyChangesOfOneKey(t *testing.T) {
	audited(t, Options{ReadsPerSecond: 10}, func(w *world) {
		w.hold("users:1", "a", 1, 0)
		w.locked(func() { w.rows["users:1"] = "a" })
		for range 500 {
			w.change("1")
		}
		w.pass(5 * time.Second)
		if got := w.judged("1s", "consistent"); got != 500 || w.reads > 5 {
			t.Errorf("%d of 500 changes are consistent, after %d reads", got, w.reads)
		}
	})
}

// What does not fit is counted.
func TestTooManyChanges(t *testing.T) {
	audited(t, Options{}, func(w *world) {
		for i := range maxInbox + 5 {
			w.change(strconv.Itoa(i))
		}
		if got := w.counts("dropped"); got != "5" {
			t.Errorf("%s changes were dropped", got)
		}
	})
}

// Changes are followed evenly, and the same ones on all nodes.
func TestOneInSoMany(t *testing.T) {
	for _, thinned := range []int{0, 1, 3} {
		fewer, more := following(100, thinned), following(100, thinned-min(thinned, 1))
		for _, stride := range []int64{1, 2, 100, 128} {
			n := 0
			for i := range int64(1_000_000) {
				lot := lotOf(proxy.Record{Partition: int(i % 4), Offset: i * stride})
				if lot < fewer {
					n++
				}
				if lot < fewer && lot >= more {
					t.Fatal("who follows fewer follows others")
				}
			}
			if want := 10_000 >> thinned; n < want*8/10 || n > want*12/10 {
				t.Errorf("%d of a million changes are followed with a stride of %d, want %d", n, stride, want)
			}
		}
	}
}

// following is the limit of the lots that are followed.
func following(oneIn, thinned int) uint64 {
	a := Auditor{opts: Options{OneIn: oneIn}, metrics: newMetrics(&proxy.Catalog{})}
	a.setShare(thinned)
	return a.share.below.Load()
}

// Of a change, each key that it touches is looked at, in each use case that can
// be judged.
func TestKeysOfAChange(t *testing.T) {
	replica := mapped("copies", "users")
	replica.Replica = true
	byName := mapped("names", "users")
	byName.Columns = []row.KeyColumn{{Name: "name"}}
	catalog, err := proxy.NewCatalog(mapped("users", "users"), byName, replica, mapped("orders", "orders"))
	if err != nil {
		t.Fatal(err)
	}
	id := func(v string) row.Field { return row.Field{Name: "id", Kind: row.Number, Value: []byte(v)} }
	name := func(v string) row.Field { return row.Field{Name: "name", Kind: row.Text, Value: []byte(v)} }
	for _, c := range []struct {
		what   string
		change event.Change
		want   string
	}{
		{"insert", event.Change{Table: "users", Op: event.Insert, After: []row.Field{id("1"), name("a")}}, "users:1 names:a"},
		{"update", event.Change{Table: "users", Op: event.Update, Before: []row.Field{id("1"), name("a")}, After: []row.Field{id("1"), name("b")}}, "users:1 names:a names:b"},
		{"key change", event.Change{Table: "users", Op: event.Update, Before: []row.Field{id("1")}, After: []row.Field{id("2"), name("b")}}, "users:1 users:2 names:b"},
		{"delete", event.Change{Table: "users", Op: event.Delete, Before: []row.Field{id("1"), name("a")}}, "users:1 names:a"},
		{"touch", event.Change{Table: "users", Op: event.Touch, Before: []row.Field{id("1")}}, "users:1"},
		{"key that is not told", event.Change{Table: "users", Op: event.Delete, Before: []row.Field{{Name: "id", Kind: row.Unknown}}}, ""},
		{"truncate", event.Change{Table: "users", Op: event.Truncate}, ""},
		{"schema", event.Change{Table: "users", Op: event.SchemaChanged}, ""},
		{"nobody's table", event.Change{Table: "logs", Op: event.Insert, After: []row.Field{id("1")}}, ""},
	} {
		a := New(catalog, nil, nil, nil, nil, Options{OneIn: 1, Bounds: make([]time.Duration, 4)}, nil)
		a.Change(proxy.Record{}, &event.Record{Change: &c.change})
		a.Change(proxy.Record{}, &event.Record{Checkpoint: &event.Checkpoint{}})
		var got []string
		for len(a.inbox) > 0 {
			got = append(got, string((<-a.inbox).key.Text))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.what, got, c.want)
		}
	}
}

// The newest violations are kept.
func TestKeptViolations(t *testing.T) {
	var a Auditor
	for i := range maxKept + 3 {
		v := &violation{entry: proxy.EntryID{Stamp: uint64(i)}, Violation: Violation{Key: "users:1"}}
		if !a.keep(v) || a.keep(v) {
			t.Fatalf("violation %d is kept twice, or not at all", i)
		}
	}
	if len(a.kept) != maxKept || a.kept[0].entry.Stamp != 3 {
		t.Errorf("%d are kept, the oldest is %d", len(a.kept), a.kept[0].entry.Stamp)
	}
}

// BenchmarkChange is what a change costs that is not followed, on the goroutine
// that brings it.
func BenchmarkChange(b *testing.B) {
	a := Auditor{opts: Options{OneIn: 1 << 30}, metrics: newMetrics(&proxy.Catalog{})}
	a.setShare(0)
	r := &event.Record{Change: &event.Change{Table: "users", Op: event.Update}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		a.Change(proxy.Record{Partition: 1, Offset: int64(i)}, r)
	}
}
