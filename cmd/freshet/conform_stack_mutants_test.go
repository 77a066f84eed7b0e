//go:build mutants

package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// caughtOnStack are mutants that it takes real parts to catch, or that have
// another life there: as caught says it.
var caughtOnStack = map[string]struct {
	faults   string
	duration string
	checks   []string
}{
	"no-relay-gate":        {"standby frozen,standby frozen for 10Δ", "45s", []string{"C2", "C3", "C6"}},
	"old-primary-lifts":    {"old primary lives on", "45s", []string{"C2", "C3"}},
	"order-by-row":         {"none", "30s", []string{"C2", "C3"}},
	"refill-incomplete":    {"none", "20s", []string{"C0"}},
	"checkpoint-now":       {"none", "40s", []string{"C2", "C3", "C5"}},
	"fingerprint-unread":   {"column made anew", "20s", []string{"C2", "C3"}},
	"token-is-commit-time": {"standby frozen", "40s", []string{"C5"}},
	"install-written":      {"late acknowledgements", "40s", []string{"C2", "C3", "C5"}},
}

// Each of these mutants is caught on real parts by a named check, and the same
// seed is green without it. -mutants.all runs them all.
func TestStackCatchesMutants(t *testing.T) {
	stacktest.Need(t)
	for _, name := range slices.Sorted(maps.Keys(caughtOnStack)) {
		if !*mutantAll && name != *mutantOnly && (*mutantOnly != "" || name != "no-relay-gate") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for seed := range *mutantSeeds {
				c := caughtOnStack[name]
				args := []string{"--seed", fmt.Sprint(seed + 1), "--duration", c.duration, "--faults", c.faults}
				broken := violatedOnStack(t, append(args, "--mutant", name)...)
				t.Logf("seed %d: caught by %v", seed+1, broken)
				if !slices.ContainsFunc(c.checks, func(id string) bool { return broken[id] > 0 }) {
					t.Errorf("seed %d: not caught by any of %v: %v", seed+1, c.checks, broken)
				}
				if broken := violatedOnStack(t, append(args, "--mutant", "none")...); len(broken) > 0 {
					t.Errorf("seed %d: without the mutant: %v", seed+1, broken)
				}
			}
		})
	}
}

func violatedOnStack(t *testing.T, args ...string) map[string]uint64 {
	t.Helper()
	t.Setenv(asFreshet, "1") // for the parts
	out := filepath.Join(t.TempDir(), "out")
	_, stdout, stderr := called(t, append([]string{"conform", "--stack", "--out", out}, args...)...)
	if stderr != "" {
		t.Errorf("on stderr: %s", stderr)
	}
	return broken(verdictIn(t, out, stdout))
}
