//go:build mutants

package cache

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy/hook"
)

var mutantSeeds = flag.Int("mutants.seeds", 0, "seeds with which each mutant must be caught, from their first interleaving on; 0: only where it is known to be")

// Each mutant of the core is caught by a named check, and the same interleavings
// are green without it. By itself the test begins just before the one that is
// known to catch it, as some take tens of thousands; if the model has changed since,
// it goes on from there.
func TestMutantsAreCaught(t *testing.T) {
	for _, m := range []struct {
		name   string
		mutant hook.M
		first  int // the interleaving that catches it, of the first seed's
		checks []string
	}{
		{"a fill is installed unchecked", hook.InstallUnchecked, 39, []string{"C2", "C3", "C5"}},
		{"the watermark is read after the stamp", hook.WatermarkAfterStamp, 1863, []string{"C2", "C3", "C5"}},
		{"any read joins a sent fill", hook.JoinAny, 2, []string{"C2", "C3", "C5", "C7"}},
		{"one of 1000 events is dropped", hook.DropEvents, 3071, []string{"C2", "C3", "C5"}},
		{"an entry is dropped only if its version is smaller", hook.DropIfOlder, 239, []string{"C2", "C3", "C5"}},
		{"a checkpoint's time is now", hook.CheckpointNow, 51, []string{"C2", "C3", "C5"}},
		{"the watermark is the maximum", hook.WatermarkMax, 113, []string{"C2", "C3", "C5"}},
		{"a gap voids nothing", hook.GapSilent, 4, []string{"C1", "C2", "C3", "C5"}},
		{"an incomplete image refills", hook.RefillIncomplete, 216, []string{"C0"}},
		{"a refill creates an absent entry", hook.RefillAbsent, 163, []string{"C2", "C3", "C5"}},
		{"a change that is not its key's last refills", hook.RefillNotLast, 93, []string{"C1"}},
		{"a refill is not held against the position", hook.RefillUnpositioned, 323, []string{"C2", "C3", "C5"}},
		{"an insert leaves a cached absence", hook.IgnoreInsert, 71, []string{"C2", "C3", "C5"}},
		{"hits extend the ttl", hook.TTLExtended, 7, []string{"ttl"}},
		{"a truncate voids one of two use cases", hook.TruncateOne, 2718, []string{"C2", "C3", "C5"}},
		{"holes go unnoticed", hook.HolesIgnored, 26387, []string{"C2", "C3", "C5"}},
		{"an old primary's checkpoint lifts", hook.OldPrimaryLifts, 24063, []string{"C2", "C3", "C5"}},
		{"the relay has no gate", hook.NoRelayGate, 68, []string{"C1", "C2", "C3", "C5"}},
		{"a written value is installed unchecked", hook.InstallWritten, 243, []string{"C0", "C2", "C3", "C5"}},
		{"a token is the commit time", hook.TokenIsCommitTime, 31844, []string{"C5"}},
	} {
		t.Run(m.name, func(t *testing.T) {
			if *mutantSeeds == 0 {
				catchMutant(t, m.mutant, m.checks, 1<<32+uint64(max(m.first-1, 0)/together*together))
			}
			for i := range *mutantSeeds {
				catchMutant(t, m.mutant, m.checks, uint64(i+1)<<32)
			}
		})
	}
}

const (
	// together are the interleavings that share a node.
	together = 64
	// mostRuns are those in which a mutant must be caught: so many, and not those
	// of a minute, as a machine may be slow. A quick one makes some thousand a
	// second.
	mostRuns = 200_000
)

func catchMutant(t *testing.T, m hook.M, checks []string, seed uint64) {
	t.Helper()
	defer hook.Set(hook.None)
	unlucky = m == hook.DropEvents
	defer func() { unlucky = false }()
	began := time.Now()
	hook.Set(m)
	runs := 0
	for runs < mostRuns {
		_, failure, at := modelBatch(t, seed+uint64(runs), together)
		runs += together
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
	for i := 0; i < runs; i += together {
		if _, failure, at := modelBatch(t, seed+uint64(i), together); failure != nil {
			t.Fatalf("without the mutant, seed %d fails: %v", at, failure)
		}
	}
}
