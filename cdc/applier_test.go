package cdc

import (
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running returns an applier in a stream that runs, and changes to bring it.
func running(t testing.TB) (a *Applier, cache *recorder, in func() []byte) {
	catalog, wm := newCatalog(t), NewWatermark()
	cache = &recorder{}
	a = NewApplier(catalog, cache, wm, newClock(sec(100)), slog.New(slog.DiscardHandler))
	a.Attached(1)
	stream := streamOf(1, "", 1)
	place := uint64(1)
	a.Record(0, 0, nil, event.Append(nil, &event.Record{Stream: stream.Hash(), Position: at(place),
		Checkpoint: &event.Checkpoint{T: sec(1), Stream: stream}}))
	if err := wm.Found(primary(1), sec(100)); err != nil {
		t.Fatal(err)
	}
	learn(catalog)
	r := event.Record{Stream: stream.Hash(), Change: &event.Change{Table: "users", Op: event.Update, Tx: 7, Commit: sec(2), Last: true,
		Before: []row.Field{{Name: "id", Kind: row.Number, Value: []byte("4711")}, {Name: "name", Kind: row.Text, Value: []byte("ada")}},
		After: []row.Field{{Name: "id", Kind: row.Number, Value: []byte("4711")}, {Name: "name", Kind: row.Text, Value: []byte("ada")},
			{Name: "v", Kind: row.Text, Value: []byte("a value of some length, as rows have them")}}}}
	var b []byte
	return a, cache, func() []byte {
		r.Prev, r.Position = at(place), at(place+1)
		place++
		b = event.Append(b[:0], &r)
		return b
	}
}

// Partitions, fills, readers and clock steps at once: nothing races, and the
// watermark does not pass what was shipped.
func TestConcurrently(t *testing.T) {
	const partitions, rounds = 4, 300
	catalog, cache, wm := newCatalog(t), newNaive(), NewWatermark()
	a := NewApplier(catalog, cache, wm, newClock(sec(1000)), slog.New(slog.DiscardHandler))
	a.Attached(partitions)
	stream := streamOf(1, "", partitions)
	var all sync.WaitGroup
	for p := range partitions {
		all.Go(func() {
			var prev proxy.Position
			ship := func(r event.Record) {
				r.Stream, r.Prev = stream.Hash(), prev
				prev = r.Position
				a.Record(p, 1, nil, event.Append(nil, &r))
			}
			for i := range uint64(rounds) {
				ship(event.Record{Position: at(2*i + 1), Change: &event.Change{Table: "users", Op: event.Delete, Commit: sec(float64(i)),
					Before: []row.Field{{Name: "id", Kind: row.Number, Value: []byte("1")}, {Name: "name", Kind: row.Null}}}})
				ship(event.Record{Position: at(2*i + 2), Checkpoint: &event.Checkpoint{T: sec(float64(i)), Stream: stream}})
			}
		})
	}
	for i := range 4 {
		all.Go(func() {
			for n := range rounds {
				if err := wm.Found(primary(1), sec(float64(n))); err != nil {
					t.Error(err)
				}
				if got := wm.Load(); got > sec(rounds) {
					t.Errorf("watermark %s", seconds(got))
				}
				if i == 0 && n%50 == 0 {
					a.ClockStepped()
				}
				a.CaughtUp()
				a.Status()
				learn(catalog)
			}
		})
	}
	all.Wait()
	if err := wm.Found(primary(1), sec(rounds)); err != nil {
		t.Fatal(err)
	}
	for p := range partitions {
		a.Record(p, 1, nil, event.Append(nil, &event.Record{Stream: stream.Hash(), Prev: at(2 * rounds), Position: at(2*rounds + 1),
			Checkpoint: &event.Checkpoint{T: sec(rounds), Stream: stream}}))
	}
	if got := wm.Load(); got != sec(rounds) {
		t.Errorf("at the end the watermark is %s", seconds(got))
	}
}

// No gap is over before everything is void: whatever comes meanwhile, the
// watermark stays down.
func TestWatermarkStaysDownInAGap(t *testing.T) {
	stream := streamOf(1, "", 1)
	check := &event.Checkpoint{T: 5, Stream: stream}
	for name, fall := range map[string]func(*Watermark){
		"a gap":            (*Watermark).fall,
		"a clock step":     (*Watermark).step,
		"the same stream":  func(w *Watermark) { w.follow(stream.Hash()) },
		"two gaps at once": func(w *Watermark) { w.fall(); w.fall(); w.stand() },
	} {
		w := NewWatermark()
		w.follow(stream.Hash())
		w.stand()
		found := func() {
			if err := w.Found(primary(1), 9); err != nil {
				t.Fatal(err)
			}
		}
		found()
		w.checkpoint(0, stream.Hash(), check, 10)
		if got := w.Load(); got != 5 {
			t.Fatalf("before: %s", seconds(got))
		}
		fall(w)
		counted := w.checkpoint(0, stream.Hash(), check, 10)
		found()
		if got := w.Load(); got != proxy.Never || counted {
			t.Errorf("%s: the watermark is %s in it, counted %t", name, seconds(got), counted)
		}
		w.stand()
		if got := w.Load(); got != proxy.Never {
			t.Errorf("%s: the watermark is %s though nothing came since", name, seconds(got))
		}
		w.checkpoint(0, stream.Hash(), check, 10)
		if got := w.Load(); got != 5 {
			t.Errorf("%s: the watermark is %s after it", name, seconds(got))
		}
	}
}

// Another primary is a gap that is over before anyone learns of the primary.
func TestAnotherPrimaryVoidsFirst(t *testing.T) {
	catalog, cache, wm := newCatalog(t), &recorder{}, NewWatermark()
	NewApplier(catalog, cache, wm, newClock(0), slog.New(slog.DiscardHandler))
	for _, c := range []struct {
		id    proxy.Identity
		err   error
		voids int
	}{
		{proxy.Identity{}, proxy.ErrNotPrimary, 0},
		{primary(2), nil, 0},
		{primary(2), nil, 0},
		{primary(1), proxy.ErrNotPrimary, 0},
		{proxy.Identity{System: 1, Timeline: 2, Started: 5}, nil, 3}, // it was started again
		{primary(2), proxy.ErrNotPrimary, 0},
		{primary(3), nil, 3},
		{proxy.Identity{System: 9, Timeline: 1}, nil, 3}, // another source altogether
		{proxy.Identity{}, proxy.ErrNotPrimary, 0},
	} {
		err := wm.Found(c.id, 1)
		if voids := len(cache.take()); err != c.err || voids != c.voids {
			t.Errorf("%+v: %v and %d voids, want %v and %d", c.id, err, voids, c.err, c.voids)
		}
	}
}

func TestFoundTakesNoMemory(t *testing.T) {
	w := NewWatermark()
	if err := w.Found(primary(1), 1); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = w.Found(primary(1), 2); w.Load() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestKeptIsBounded(t *testing.T) {
	a := NewApplier(newCatalog(t), &recorder{}, NewWatermark(), newClock(0), slog.New(slog.DiscardHandler))
	a.Attached(1)
	for i := range 3 * maxKept {
		a.Record(0, int64(i), nil, []byte(strings.Repeat("x", 2*maxKeptBytes)))
	}
	kept := a.Kept()
	if len(kept) != maxKept || kept[maxKept-1].Offset != 3*maxKept-1 || len(kept[0].Value) != maxKeptBytes {
		t.Errorf("%d kept, the last of offset %d", len(kept), kept[len(kept)-1].Offset)
	}
}

func TestMetrics(t *testing.T) {
	a, _, in := running(t)
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(a)
	a.Record(0, 1, nil, in())
	a.ClockStepped()
	a.Record(0, 2, nil, []byte("garbage"))
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got, series := map[string]float64{}, 0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			series++
		}
	}
	for name, want := range map[string]float64{
		"freshet_cdc_changes_total update applied": 1,
		"freshet_cdc_checkpoints_total counted":    1,
		"freshet_cdc_gaps_total clock":             1,
		"freshet_cdc_gaps_total start":             1,
		"freshet_cdc_gaps_total hole":              0,
		"freshet_cdc_images_total":                 1,
		"freshet_cdc_undecodable_total":            1,
		"freshet_cdc_watermark_seconds":            math.Inf(-1),
		"freshet_cdc_watermark_held":               0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if series != 7*4+7+7+4+2 {
		t.Errorf("%d series", series)
	}
}

// discard is a cache that holds nothing.
type discard struct{ n int }

func (d *discard) Change(proxy.Key, *proxy.Image, proxy.Record) { d.n++ }
func (d *discard) Void(*proxy.UseCase)                          {}

// A change of a row that is not here, in two use cases, with its image; the
// writer's side, which BenchmarkAppend measures alone, is in it.
func BenchmarkAppendAndRecord(b *testing.B) {
	a, _, in := running(b)
	a.cache = &discard{}
	b.ReportAllocs()
	for b.Loop() {
		a.Record(0, 1, nil, in())
	}
}

func BenchmarkAppend(b *testing.B) {
	_, _, in := running(b)
	b.ReportAllocs()
	for b.Loop() {
		in()
	}
}

// A topic that is made anew under a running relay begins with a record that
// follows one of the old log. A node that had attached to the end of a log that
// was empty too has no mark to see the hole by.
func TestFirstRecordOfALogFollowsNone(t *testing.T) {
	for name, test := range map[string]struct {
		offset  int64
		follows bool
		gaps    uint64
	}{
		"first of its log, follows another": {0, true, 1},
		"first of its log, follows none":    {0, false, 1},
		"not the first":                     {1, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a, _, in := running(t)
			a.Attached(1)
			before := a.Status().Gaps
			in()
			r, err := event.Decode(in()) // the change before it was in the old log
			if err != nil {
				t.Fatal(err)
			}
			if !test.follows {
				r.Prev = proxy.Position{}
			}
			a.Record(0, test.offset, nil, event.Append(nil, r))
			if got := a.Status().Gaps - before; got != test.gaps {
				t.Errorf("%d gaps, want %d", got, test.gaps)
			}
		})
	}
}
