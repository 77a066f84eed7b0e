package check

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var seeds = flag.Int("check.seeds", 4, "histories that are made for each test of this package")

// No valid history is rejected, and every check has something to judge in it.
func TestValidHistoriesHold(t *testing.T) {
	for seed := range uint64(*seeds) {
		v := newTier(seed).run().judgeAll(t)
		for _, x := range v.Violations {
			t.Errorf("seed %d: %+v", seed, x)
		}
		for _, c := range v.Checks {
			if c.Judged == 0 {
				t.Errorf("seed %d: %s had nothing to judge", seed, c.ID)
			}
		}
	}
}

// A checker that looks through all versions for every read comes to the same
// counts, whatever the answers are.
func TestTwinOfTheNaiveChecker(t *testing.T) {
	for seed := range uint64(*seeds) {
		sim := newTier(seed).run()
		want := [checks]uint64{}
		known := map[string][]fact{}
		for i := range sim.reads {
			r := &sim.reads[i]
			if known[r.Key] == nil {
				known[r.Key] = sim.facts(r.Key)
			}
			facts := known[r.Key]
			r.Value = facts[sim.rng.IntN(len(facts))].value
			sim.judgeNaively(r, facts, &want)
		}
		v := sim.judgeAll(t)
		for _, id := range []ID{C1, C2, C3, C5, C7, C8} {
			if got := v.Checks[id].Violated; got != want[id] {
				t.Errorf("seed %d: %s: %d violations, and the naive checker finds %d", seed, id, got, want[id])
			}
		}
	}
}

// judgeNaively looks for a version that a read may have been answered with.
func (t *tier) judgeNaively(r *history.Read, facts []fact, out *[checks]uint64) {
	possible := []int{of(facts, r.Value)}
	if r.Value == 0 {
		possible = nil
		for i, f := range facts {
			if f.value == 0 && f.begun <= r.Answered {
				possible = append(possible, i)
			}
		}
	}
	// each condition must hold for one and the same version
	holds := func(ok func(i int) bool) bool {
		for _, i := range possible {
			if ok(i) {
				return true
			}
		}
		return false
	}
	if !holds(func(i int) bool { return facts[i].begun <= r.Answered }) {
		out[C1]++
	}
	if r.AsOf != 0 && !holds(func(i int) bool {
		return !overBy(facts, i, func(f fact) bool { return f.acked < forever && t.upper(f.acked) <= r.AsOf })
	}) {
		out[C2]++
	}
	if r.Token != 0 && !holds(func(i int) bool {
		return !overBy(facts, i, func(f fact) bool { return f.token <= r.Token && f.acked <= r.Invoked })
	}) {
		out[C5]++
	}
	if holds(func(i int) bool { return !overBy(facts, i, t.ackedBefore(r.Invoked.Add(-r.Bound))) }) {
		return
	}
	switch {
	case r.Mode == history.Strong:
		out[C7]++
	case r.Value == 0:
		out[C8]++
	default:
		out[C3]++
	}
}

// upper is the upper end of the source's clock: round trips are once a second
// on the full one, and know it 20 µs too high there.
func (t *tier) upper(at history.Time) proxy.Time {
	if at == always {
		return proxy.Never
	}
	before, after := at-at%second, at-at%second+second
	hi := func(from history.Time) proxy.Time {
		d := at.Sub(from)
		return t.source(at) + 20_000 + proxy.Time(max(d, -d)/1e6*driftPPM)
	}
	return min(hi(before), hi(after))
}
