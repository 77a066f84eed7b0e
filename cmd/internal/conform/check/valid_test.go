package check

import (
	"testing"
)

// No valid history is rejected.
func TestValidHistoriesHold(t *testing.T) {
	for seed := range uint64(40) {
		v := newTier(seed).run().judgeAll(t)
		for _, x := range v.Violations {
			t.Errorf("seed %d: %+v", seed, x)
		}
		for _, c := range v.Checks {
			if c.Judged == 0 {
				t.Errorf("seed %d: %s had nothing to judge", seed, c.ID)
			}
			t.Logf("%+v", c)
		}
		t.Log(v.Result, v.Missing, v.Reads, v.Healthy)
		if t.Failed() {
			break
		}
	}
}
