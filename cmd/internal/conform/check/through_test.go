package check

import (
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

func violatedOf(v *Verdict, id ID) uint64 { return v.Checks[id].Violated }

// A write that went through a node is seen at that node, with a token or
// without; another node may have what was before, within the bound.
func TestWritesThroughANode(t *testing.T) {
	for _, test := range []struct {
		name string
		read *history.Read
		want uint64
	}{
		{"what was before", got("a:1", 11, 400, 410), 1},
		{"what was before, as a read that began before the reply", got("a:1", 11, 290, 410), 0},
		{"what was before, at another node", with(got("a:1", 11, 400, 410), func(r *history.Read) { r.Node = "n2" }), 0},
		{"what was before, outside the bound", with(got("a:1", 11, 400, 410), func(r *history.Read) { r.Outside, r.Mode = true, history.MaxStale }), 0},
		{"what was written", got("a:1", 12, 400, 410), 0},
		{"something later", got("a:1", 13, 400, 410), 0},
	} {
		v := judgeHand(t, src, wrote("a:1", 1, 11, 100, 110),
			with(wrote("a:1", 2, 12, 200, 300), func(w *history.Write) { w.Node = "n1" }),
			wrote("a:1", 3, 13, 350, 360), test.read)
		if got := violatedOf(v, C5); got != test.want {
			t.Errorf("%s: C5 violated %d times, want %d: %v", test.name, got, test.want, v.Violations)
		}
	}
}

// A node that is started again has forgotten what went through it, and when that
// was, is only known to be between two samples.
func TestNodesForget(t *testing.T) {
	counted := func(at int, life uint64) *history.Counters {
		return &history.Counters{At: ms(at), Node: "n1", Life: life, UseCase: "a"}
	}
	for _, test := range []struct {
		name   string
		counts []any
		want   uint64
	}{
		{"it lives on", []any{counted(250, 1), counted(500, 1)}, 1},
		{"started again before the write", []any{counted(150, 1), counted(299, 2), counted(500, 2)}, 1},
		{"perhaps before the write", []any{counted(200, 1), counted(310, 2)}, 0},
		{"between write and read", []any{counted(350, 1), counted(380, 2)}, 0},
		{"perhaps after the read", []any{counted(390, 1), counted(500, 2)}, 0},
		{"after the read", []any{counted(410, 1), counted(500, 2)}, 1},
		{"another node", []any{counted(350, 1), with(counted(380, 2), func(c *history.Counters) { c.Node = "n2" })}, 1},
	} {
		v := judgeHand(t, src, append(test.counts, wrote("a:1", 1, 11, 100, 110),
			with(wrote("a:1", 2, 12, 200, 300), func(w *history.Write) { w.Node = "n1" }),
			got("a:1", 11, 400, 410))...)
		if got := violatedOf(v, C5); got != test.want {
			t.Errorf("%s: C5 violated %d times, want %d: %v", test.name, got, test.want, v.Violations)
		}
	}
}

// An entry has an end, whatever the stream says.
func TestEntriesHaveAnEnd(t *testing.T) {
	for _, test := range []struct {
		origin history.Origin
		upper  int
		want   uint64
	}{
		{history.FromHit, 14_000, 0}, {history.FromHit, 6_000, 1}, {history.FromFill, 6_000, 0}, {history.FromHit, 0, 0},
	} {
		r := with(got("t:1", 11, 20_000, 20_001), proved(test.origin, 19_900))
		if r.Upper = src(test.upper); test.upper == 0 {
			r.Upper = 0
		}
		v := judgeHand(t, src, wrote("t:1", 1, 11, 100, 110), r)
		if got := violatedOf(v, C4); got != test.want {
			t.Errorf("%s last read %v before: C4 violated %d times, want %d: %v", test.origin, 20*time.Second-time.Duration(test.upper)*time.Millisecond, got, test.want, v.Violations)
		}
	}
}

// While a run goes on, what was read may not be written down yet.
func TestCutOff(t *testing.T) {
	records := []any{wrote("a:1", 1, 11, 100, 110), wrote("a:1", 2, 12, 200, 210),
		got("a:1", 99, 300, 310), // nobody wrote it yet
		got("a:1", 0, 1500, 1510),
		got("a:1", 11, 5000, 5010),
		// It has counted reads that nobody wrote down yet.
		&history.Counters{At: ms(400), Node: "n1", Life: 1, UseCase: "a", Hits: 7}}
	if v := judgeHand(t, src, records...); violatedOf(v, C0) != 1 || violatedOf(v, C8) != 1 || violatedOf(v, C3) != 1 || violatedOf(v, C9) != 1 {
		t.Errorf("the whole: %v", v.Violations)
	}
	v := judgeCutOff(t, src, records...)
	if violatedOf(v, C0)+violatedOf(v, C8)+violatedOf(v, C9) != 0 || violatedOf(v, C3) != 1 {
		t.Errorf("cut off: %v", v.Violations)
	}
}
