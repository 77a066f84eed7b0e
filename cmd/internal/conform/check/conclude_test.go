package check

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy"
)

// meaningful is a history that shows all that a run has to show. change is
// asked about every record.
func meaningful(change func(record any)) []any {
	var out []any
	add := func(record any) {
		if change != nil {
			change(record)
		}
		out = append(out, record)
	}
	add(with(wrote("a:1", 1, 10, 100, 110), func(w *history.Write) { w.Token = src(110) }))
	for i := range 1000 {
		at := 5000 + 100*i
		r := with(got("a:1", 10, at, at+1), proved(history.FromHit, at-50))
		r.Hot, r.Upper = true, src(at-2000)
		add(r)
	}
	add(with(got("a:1", 10, 4000, 4001), func(r *history.Read) { r.Mode, r.Bound = history.Strong, 0 }))
	add(with(got("a:1", 10, 4000, 4001), func(r *history.Read) { r.Mode, r.Token = history.Token, src(110) }))
	add(with(got("a:1", 10, 4000, 4001), inSession(1)))
	add(with(got("a:1", 10, 4000, 4001), func(r *history.Read) { r.Probe = 1 }))
	add(got("a:9", 0, 4000, 4001))
	add(fill("a:1", 3000, 3001))
	add(&history.Counters{At: ms(119_000), Node: "n1", Life: 1, UseCase: "a", Final: true, Fills: map[string]uint64{"cold": 1}, Hits: 1000})
	return out
}

func TestWhatARunMustHaveShown(t *testing.T) {
	reads := func(change func(*history.Read)) func(any) {
		return func(record any) {
			if r, ok := record.(*history.Read); ok {
				change(r)
			}
		}
	}
	n := 0
	for _, c := range []struct {
		name    string
		change  func(record any)
		missing string // "": it held
	}{
		{"nothing", nil, ""},
		{"hits", reads(func(r *history.Read) {
			if n++; n%4 == 0 && r.Hot {
				r.Origin = history.FromFill
			}
		}), "reads of the hot head were hits"},
		{"hits that only the stream could allow", reads(func(r *history.Read) { r.Upper = r.AsOf }), "older than Δ but for the stream"},
		{"a hot head", reads(func(r *history.Read) { r.Hot = false }), "0 reads of the hot head"},
		{"proofs", reads(func(r *history.Read) { r.Origin, r.AsOf = history.NoProof, 0 }), "C2 had nothing to judge"},
		{"tokens", reads(func(r *history.Read) { r.Token = 0 }), "C5 had nothing to judge"},
		{"sessions", reads(func(r *history.Read) { r.Session = 0 }), "C6 had nothing to judge"},
		{"STRONG reads", reads(func(r *history.Read) { r.Mode = history.Plain; r.Bound = time.Second }), "C7 had nothing to judge"},
		{"absences", reads(func(r *history.Read) { r.Key, r.Value = "a:1", 10 }), "C8 had nothing to judge"},
		{"probes", reads(func(r *history.Read) { r.Probe = 0 }), "C10 had nothing to judge"},
	} {
		t.Run("without "+c.name, func(t *testing.T) {
			v := judgeHand(t, src, meaningful(c.change)...)
			if c.missing == "" {
				if v.Result != Held || v.Result.Status() != 0 {
					t.Errorf("%s: %v %+v", v.Result, v.Missing, v.Violations)
				}
				return
			}
			if all := strings.Join(v.Missing, "\n"); v.Result != Inconclusive || v.Result.Status() != 3 || !strings.Contains(all, c.missing) {
				t.Errorf("%s: %s %+v", v.Result, all, v.Violations)
			}
		})
	}
}

func TestARunThatWasCutOff(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "history.jsonl")
	sim := newTier(1).run()
	f, err := os.Create(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.save(f); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(whole, data[:len(data)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := Files(t.Context(), dir, whole)
	if err != nil || v.Result != Inconclusive || !strings.Contains(strings.Join(v.Missing, "\n"), "cut off") {
		t.Errorf("%+v, %v", v, err)
	}
}

// What a run was to do and did not, and what came to be in it, is told.
func TestWhatWasLeftOut(t *testing.T) {
	planned := []history.Fault{{Name: "kill", Target: "n1"}, {Name: "kill", Target: "relay"}, {Name: "freeze", Target: "n1"}}
	var run history.Run
	for i := range planned {
		run.Faults = append(run.Faults, planned[i].String())
	}
	op := func(op string, outcome history.Outcome) func(*history.Write) {
		return func(w *history.Write) { w.Op, w.Outcome = op, outcome }
	}
	v := judgeRun(t, run, src,
		with(wrote("a:1", 1, 10, 100, 110), op("insert", history.Committed)), with(wrote("a:1", 2, 11, 200, 210), op("update", history.Passed)),
		with(wrote("a:1", 3, 12, 200, 210), op("update", history.Committed)), with(wrote("a:1", 0, 13, 300, 310), op("update", history.RolledBack)),
		&history.Fault{ID: 1, Name: "kill", Target: "n1", At: ms(1000)}, &history.Fault{ID: 1, Name: "kill", Target: "n1", At: ms(2000), End: true})
	if want := []string{"kill of relay", "freeze of n1"}; !slices.Equal(v.Unmade, want) {
		t.Errorf("not made: %q, and not %q", v.Unmade, want)
	}
	if n := v.Changes(); n != 2 {
		t.Errorf("%d changes: %v", n, v.Writes)
	}
}

// The share of hits must come back, but not where too few reads tell.
func TestHitsComeBack(t *testing.T) {
	for _, c := range []struct {
		name     string
		after    int // every which read of the hot head is a fill, after the fault
		reads    int
		violated uint64
	}{
		{"as before", 10, 300, 0},
		{"every other", 2, 300, 1},
		{"every other of a few", 2, 90, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			records := []any{wrote("a:1", 1, 10, 100, 110), fault("kill", 40_000, false), fault("kill", 41_000, true)}
			for i := range 300 {
				r := with(got("a:1", 10, 1000+100*i, 1001+100*i), proved(history.FromHit, 950+100*i))
				r.Hot = true
				records = append(records, r)
			}
			for i := range c.reads {
				r := with(got("a:1", 10, 60_000+100*i, 60_001+100*i), proved(history.FromHit, 59_950+100*i))
				r.Hot = true
				if i%c.after == 0 {
					r.Origin = history.FromFill
				}
				records = append(records, r)
			}
			if v := judgeHand(t, src, records...); v.Checks[C11].Violated != c.violated {
				t.Errorf("%+v", v.Violations)
			}
		})
	}
}

func TestHistoriesThatAreNone(t *testing.T) {
	run := `{"kind":"run","format":1,"at":1,"use_cases":[{"name":"a","bound":1}]}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "begins with one record of its run"},
		{"two runs", run + run, "begins with one record of its run"},
		{"another format", `{"kind":"run","format":2}` + "\n", "format 2"},
		{"no JSON", run + "hello\n", "line 2"},
		{"a key of no use case", run + `{"kind":"read","key":"z:1"}` + "\n", "of no use case"},
		{"a write of no use case", run + `{"kind":"write","key":"z:1"}` + "\n", "of no use case"},
		{"a truncate of no use case", run + `{"kind":"truncate","use_case":"z"}` + "\n", "which the run does not have"},
		{"one place for two writes", run + strings.Repeat(`{"kind":"write","key":"a:1","seq":4,"value":4}`+"\n", 2), "one place in the log"},
		{"a field that is none", run + `{"kind":"read","key":"a:1","colour":1}` + "\n", "colour"},
		{"a run that ends in the year 2262", run + `{"kind":"end","at":9223372036854775807}` + "\n", "a run from 1 to 9223372036854775807"},
		{"a run from before all time", strings.Replace(run, `"at":1`, `"at":-9223372036854775808`, 1), "a run from -9223372036854775808"},
		{"a fault that is none", run + `{"kind":"fault","id":1,"name":"healthy","at":2}` + "\n", "as times without one are"},
		{"a line without end", run + strings.Repeat("x", maxLine+1), "line 2: no sound history: a line of it has at most 65536 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history.jsonl")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			scratch := t.TempDir()
			if _, err := Files(t.Context(), scratch, path); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// Who has no room for sorting a history is told what to do, once.
func TestSortingWithoutRoom(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("no disk is full here")
	}
	folder := t.TempDir()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	for _, lines := range []int{1, 5000} { // which are still in memory at the end, and are not
		if err := os.WriteFile(path, bytes.Repeat([]byte(`{"kind":"write","key":"a:1"}`+"\n"), lines), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"made-0", "read-0"} {
			if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(full, filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := deal(folder, 1, []string{path})
		if err == nil || strings.Count(err.Error(), "name another folder with --out") != 1 {
			t.Errorf("%d lines: %v", lines, err)
		}
	}
}

// What is counted by time is all that is counted.
func TestSlotsAddUp(t *testing.T) {
	sim := newTier(3).run()
	for i := range sim.reads {
		if i%7 == 0 {
			sim.reads[i].Value = 1 << 40
		}
	}
	v := sim.judgeAll(t)
	var sum Slot
	for i := range v.Slots {
		sum.add(&v.Slots[i])
	}
	if sum.Reads != v.Reads.All || sum.Hits != v.Reads.Hits || sum.Violated[C0] != v.Checks[C0].Violated || sum.Violated[C0] == 0 {
		t.Errorf("%+v, of %+v", sum, v.Reads)
	}
	if n := len(v.Violations); n != maxSamples {
		t.Errorf("%d violations are kept", n)
	}
}

func TestQuantiles(t *testing.T) {
	var h Histogram
	for i := range 1000 {
		h.add(time.Duration(i-499) * time.Millisecond)
	}
	if h.None != 500 || h.Total() != 1000 || h.Max != 500*time.Millisecond {
		t.Errorf("%d of %d, up to %s", h.None, h.Total(), h.Max)
	}
	for share, want := range map[float64]time.Duration{0.3: 0, 0.75: 250 * time.Millisecond, 0.999: 499 * time.Millisecond, 1: 500 * time.Millisecond} {
		if got := h.Quantile(share); got < want || got > want*6/5 {
			t.Errorf("%v of it is below %s, and should be below %s", share, got, want)
		}
	}
	h.add(100 * time.Hour)
	if got := h.Quantile(1); got != 100*time.Hour && got != Edge(buckets-1) {
		t.Errorf("the longest is %s", got)
	}
}

func TestSourceClock(t *testing.T) {
	c := newSourceClock([]history.Clock{{At: ms(0), Lo: src(0), Hi: src(2)}, {At: ms(1000), Lo: src(999), Hi: src(1001)}, {At: ms(2000), Lo: src(5000), Hi: src(5001)}}, nil)
	for _, x := range []struct {
		at     int
		lo, hi proxy.Time
		ok     bool
	}{
		{500, src(500).Add(-100 * time.Microsecond), src(501).Add(100 * time.Microsecond), true},
		{1500, 0, 0, false}, // it was set ahead somewhere around
		{2100, src(5100).Add(-20 * time.Microsecond), src(5101).Add(20 * time.Microsecond), true},
		{60_000, 0, 0, false}, // nobody asked it for long
	} {
		lo, hi, ok := c.at(ms(x.at))
		if ok != x.ok || ok && (lo != x.lo || hi != x.hi) {
			t.Errorf("at %d: %d to %d, %v; %d to %d wanted", x.at, lo, hi, ok, x.lo, x.hi)
		}
	}
	if c.stepped(ms(0), ms(999)) || !c.stepped(ms(500), ms(1500)) || !c.stepped(ms(2500), ms(2600)) || c.stepped(ms(3001), ms(4000)) {
		t.Errorf("steps: %v", c.steps)
	}
}
