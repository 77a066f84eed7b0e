//go:build mutants

package main

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// debezium are the flags of a run behind a connector.
var debezium = []string{"--debezium"}

// caughtOnStack are mutants that it takes real parts to catch, or that have
// another life there: as caught says it.
var caughtOnStack = map[string]hunt{
	"barrier-from-list":    {faults: "place lost amid unseen commits", checks: []string{"C2", "C3"}, with: debezium},
	"checkpoint-now":       {faults: noFaults, checks: []string{"C2", "C3", "C5"}},
	"fingerprint-unread":   {faults: "column made anew", checks: []string{"C2", "C3"}},
	"gate-asks-replica":    {faults: "standby away", checks: []string{"C2", "C3"}, with: debezium},
	"install-written":      {faults: "late acknowledgements", checks: []string{"C2", "C3", "C5"}},
	"no-node-gate":         {faults: "standby frozen", checks: []string{"C2", "C3"}, with: debezium},
	"no-relay-gate":        {faults: "standby frozen,standby frozen for 10Δ", checks: []string{"C2", "C3"}},
	"old-primary-lifts":    {faults: "old primary lives on", checks: []string{"C2", "C3"}},
	"order-by-row":         {faults: noFaults, checks: []string{"C2", "C3"}},
	"refill-incomplete":    {faults: noFaults, checks: []string{"C0"}, whole: 15 * time.Second},
	"token-is-commit-time": {faults: "standby frozen", checks: []string{"C5"}},
}

// Each of these mutants is caught on real parts by a named check, and the same
// seed is green without it, for as long.
func TestStackCatchesMutants(t *testing.T) {
	stacktest.Need(t)
	for seed := *mutantFirst; seed < *mutantFirst+*mutantSeeds; seed++ {
		for _, name := range slices.Sorted(maps.Keys(caughtOnStack)) {
			if !chosen(name) {
				continue
			}
			h := caughtOnStack[name]
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				v := h.onStack(t, seed, name, cmp.Or(h.whole, *within))
				lasted := v.Ended.Sub(v.Run.At).Round(time.Second)
				t.Logf("after %v: %v", lasted, broken(v))
				if !slices.ContainsFunc(h.checks, func(id string) bool { return broken(v)[id] > 0 }) {
					t.Errorf("not caught by any of %v", h.checks)
				}
				if v := h.onStack(t, seed, "none", lasted); len(broken(v)) > 0 {
					t.Errorf("without the mutant: %v, %v", broken(v), v.Violations)
				}
			})
		}
	}
}

func (h hunt) onStack(t *testing.T, seed int, mutant string, lasts time.Duration) *check.Verdict {
	t.Helper()
	t.Setenv(asFreshet, "1") // for the parts
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"conform", "--stack", "--out", out, "--seed", fmt.Sprint(seed), "--duration", fmt.Sprint(max(lasts, 6*time.Second)), "--faults", h.faults, "--mutant", mutant}
	args = append(args, h.with...)
	if h.whole == 0 {
		args = append(args, "--until", strings.Join(h.checks, ","))
	}
	_, stdout, stderr := called(t, args...)
	if stderr != "" {
		t.Errorf("on stderr: %s", stderr)
	}
	return verdictIn(t, out, stdout)
}
