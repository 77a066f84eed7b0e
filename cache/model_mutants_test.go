//go:build mutants

package cache

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy/hook"
)

var mutantSeeds = flag.Int("mutants.seeds", 1, "seeds with which each mutant must be caught")

// Each mutant of the core is caught by a named check within a minute, and the
// same seeds are green without it.
func TestMutantsAreCaught(t *testing.T) {
	for _, m := range []struct {
		name   string
		mutant hook.M
		checks []string
	}{
		{"a fill is installed unchecked", hook.InstallUnchecked, []string{"C2", "C3", "C5"}},
		{"the watermark is read after the stamp", hook.WatermarkAfterStamp, []string{"C2", "C3", "C5"}},
		{"any read joins a sent fill", hook.JoinAny, []string{"C2", "C3", "C5", "C7"}},
		{"one of 1000 events is dropped", hook.DropEvents, []string{"C2", "C3", "C5"}},
		{"an entry is dropped only if its version is smaller", hook.DropIfOlder, []string{"C2", "C3", "C5"}},
		{"a checkpoint's time is now", hook.CheckpointNow, []string{"C2", "C3", "C5"}},
		{"the watermark is the maximum", hook.WatermarkMax, []string{"C2", "C3", "C5"}},
		{"a gap voids nothing", hook.GapSilent, []string{"C1", "C2", "C3", "C5"}},
		{"an incomplete image refills", hook.RefillIncomplete, []string{"C0"}},
		{"a refill creates an absent entry", hook.RefillAbsent, []string{"C2", "C3", "C5"}},
		{"a change that is not its key's last refills", hook.RefillNotLast, []string{"C1"}},
		{"a refill is not held against the position", hook.RefillUnpositioned, []string{"C2", "C3", "C5"}},
		{"an insert leaves a cached absence", hook.IgnoreInsert, []string{"C2", "C3", "C5"}},
		{"hits extend the ttl", hook.TTLExtended, []string{"ttl"}},
		{"a truncate voids one of two use cases", hook.TruncateOne, []string{"C2", "C3", "C5"}},
		{"holes go unnoticed", hook.HolesIgnored, []string{"C2", "C3", "C5"}},
		{"an old primary's checkpoint lifts", hook.OldPrimaryLifts, []string{"C2", "C3", "C5"}},
		{"the relay has no gate", hook.NoRelayGate, []string{"C1", "C2", "C3", "C5"}},
		{"a written value is installed unchecked", hook.InstallWritten, []string{"C0", "C2", "C3", "C5"}},
		{"a token is the commit time", hook.TokenIsCommitTime, []string{"C5"}},
	} {
		t.Run(m.name, func(t *testing.T) {
			for i := range *mutantSeeds {
				catchMutant(t, m.mutant, m.checks, uint64(i+1)<<32)
			}
		})
	}
}

func catchMutant(t *testing.T, m hook.M, checks []string, seed uint64) {
	t.Helper()
	defer hook.Set(hook.None)
	began := time.Now()
	hook.Set(m)
	runs := 0
	for time.Since(began) < time.Minute {
		_, failure, at := modelBatch(t, seed+uint64(runs), 64)
		runs += 64
		if failure == nil {
			continue
		}
		if !slices.Contains(checks, failure.check) {
			t.Errorf("seed %d: caught by %v, wanted one of %v", at, failure, checks)
		}
		t.Logf("caught at interleaving %d, after %v: %v", at-seed+1, time.Since(began).Round(time.Millisecond), failure)
		greenTwin(t, seed, runs)
		return
	}
	t.Errorf("not caught in %d interleavings from seed %d", runs, seed)
}

func greenTwin(t *testing.T, seed uint64, runs int) {
	t.Helper()
	hook.Set(hook.None)
	for i := 0; i < runs; i += 64 {
		if _, failure, at := modelBatch(t, seed+uint64(i), 64); failure != nil {
			t.Fatalf("without the mutant, seed %d fails: %v", at, failure)
		}
	}
}
