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
		v := judgeRun(t, history.Run{Live: test.live}, src, c)
		if n := v.Checks[C9]; n.Violated != test.violated {
			t.Errorf("%s, live %v: %d violations of %d judged", test.reason, test.live, n.Violated, n.Judged)
		}
		if said := len(v.Unchecked) > 0; said != test.live {
			t.Errorf("%s, live %v: not checked: %q", test.reason, test.live, v.Unchecked)
		}
	}
}
