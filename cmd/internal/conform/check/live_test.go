package check

import (
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// Nodes that serve others too fill what the writes of these have passed: that
// is no violation, and said not to be judged. All else that they count is.
func TestNodesThatServeOthersToo(t *testing.T) {
	for _, test := range []struct {
		reason   string
		live     bool
		violated uint64
	}{
		{"neighbour", false, 2}, // and there was no read
		{"neighbour", true, 1},
		{"expired", true, 2},
	} {
		c := &history.Counters{At: ms(100), Node: "n1", Life: 1, UseCase: "a", Fills: map[string]uint64{test.reason: 500}}
		v := judgeRun(t, history.Run{Live: test.live}, src, c, &history.End{At: ms(1000)})
		if n := v.Checks[C9]; n.Violated != test.violated {
			t.Errorf("%s, live %v: %d violations of %d judged", test.reason, test.live, n.Violated, n.Judged)
		}
		if said := len(v.Unchecked) > 0; said != test.live {
			t.Errorf("%s, live %v: not checked: %q", test.reason, test.live, v.Unchecked)
		}
	}
}

// What was pushed out, changed or voided before the run is filled in it: once
// for each key at each node that was there before, and never where nodes are
// the run's own.
func TestCausesFromBeforeTheRun(t *testing.T) {
	reads := []any{got("a:1", 0, 10, 20), got("a:1", 0, 30, 40), got("a:2", 0, 10, 20), got("a:2", 0, 30, 40)}
	for _, reason := range []string{"evicted", "changed", "epoch"} {
		for _, test := range []struct {
			live     bool
			fills    uint64
			violated uint64
		}{
			{true, 2, 0},
			{true, 3, 1},
			{false, 1, 1},
		} {
			c := &history.Counters{At: ms(100), Node: "n1", Life: 1, UseCase: "a", Fills: map[string]uint64{reason: test.fills}}
			v := judgeRun(t, history.Run{Live: test.live}, src, append(reads, c, &history.End{At: ms(1000)})...)
			if n := v.Checks[C9]; n.Violated != test.violated {
				t.Errorf("%d fills for %q, live %v: %d violations: %+v", test.fills, reason, test.live, n.Violated, v.Violations)
			}
		}
	}
}

// Nodes of others write down no fills: that fills fail, and so have one cause
// twice, is told by the reads that they were for.
func TestFillsFailAtNodesOfOthers(t *testing.T) {
	for _, test := range []struct {
		change   func(*history.Read)
		violated uint64
	}{
		{func(r *history.Read) { r.Trouble = history.Unavailable }, 0},
		{func(r *history.Read) { r.Outside = true }, 0},
		{func(r *history.Read) { r.Answered = r.Invoked + 2*second }, 0},
		{func(*history.Read) {}, 1},
	} {
		records := []any{&history.Counters{At: ms(3000), Node: "n1", Life: 1, UseCase: "a", Fills: map[string]uint64{"cold": 1, "changed": 20}, Dropped: 1}, &history.End{At: ms(4000)}}
		for i := range 21 {
			records = append(records, with(got("a:1", 0, 10*i, 10*i+1), test.change))
		}
		v := judgeRun(t, history.Run{Live: true}, src, records...)
		if n := violatedOf(v, C9); n != test.violated {
			t.Errorf("C9 violated %d times, want %d: %v", n, test.violated, v.Violations)
		}
	}
}
