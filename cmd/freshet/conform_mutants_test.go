//go:build mutants

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
)

var (
	mutantSeeds = flag.Int("mutants.seeds", 1, "seeds with which each mutant must be caught by a conformance run")
	mutantOnly  = flag.String("mutants.only", "", "the one mutant to catch")
	mutantAll   = flag.Bool("mutants.all", false, "catch all of them, which takes a quarter of an hour for each seed, and not only those that show at once")
)

// caught says by which checks a run of the processes catches a mutant, within
// a minute, and under which faults it shows.
var caught = map[string]struct {
	faults   string
	duration string
	checks   []string
}{
	"install-unchecked":     {"late answers of the source", "20s", []string{"C2", "C3"}},
	"watermark-after-stamp": {"none", "30s", []string{"C2", "C3", "C4", "C5"}},
	"join-any":              {"late answers of the source", "45s", []string{"C2", "C3", "C5", "C7"}},
	"drop-events":           {"none", "50s", []string{"C2", "C3"}},
	"checkpoint-now":        {"none", "40s", []string{"C2", "C3", "C5"}},
	"watermark-max":         {"freeze", "30s", []string{"C2", "C3"}},
	"gap-silent":            {"log cut under a frozen node,topic made anew", "20s", []string{"C2", "C3"}},
	"epoch-before-position": {"log cut under a frozen node far from its broker", "45s", []string{"C2", "C3"}},
	"ignore-insert":         {"none", "15s", []string{"C2", "C8"}},
	"replies-shifted":       {"none", "10s", []string{"C0"}},
	"holes-ignored":         {"changes lost", "20s", []string{"C2", "C3"}},
	"install-written":       {"late acknowledgements", "40s", []string{"C2", "C3", "C5"}},
	"token-is-commit-time":  {"late acknowledgements,slow source", "30s", []string{"C5"}},
	"fingerprint-unread":    {"column made anew", "15s", []string{"C2", "C3"}},
}

// Each of these mutants is caught by a named check, and the same seeds are
// green without it: in the same build, at the same points, disturbed alike.
func TestConformCatchesMutants(t *testing.T) {
	green := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(caught)) {
		if !chosen(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for seed := range *mutantSeeds {
				c := caught[name]
				args := []string{"--seed", fmt.Sprint(seed + 1), "--duration", c.duration, "--faults", c.faults}
				broken := violated(t, append(args, "--mutant", name)...)
				t.Logf("seed %d: caught by %v", seed+1, broken)
				if !slices.ContainsFunc(c.checks, func(id string) bool { return broken[id] > 0 }) {
					t.Errorf("seed %d: not caught by any of %v: %v", seed+1, c.checks, broken)
				}
				twin := fmt.Sprint(args)
				if green[twin] {
					continue
				}
				if broken := violated(t, append(args, "--mutant", "none")...); len(broken) > 0 {
					t.Errorf("seed %d: without the mutant: %v", seed+1, broken)
				}
				green[twin] = true
			}
		})
	}
}

func chosen(name string) bool {
	switch {
	case *mutantOnly != "":
		return name == *mutantOnly
	case *mutantAll:
		return true
	}
	return name == "replies-shifted" || name == "ignore-insert"
}

// violated returns how often a run violated which checks.
func violated(t *testing.T, args ...string) map[string]uint64 {
	t.Helper()
	_, stdout, out := conforms(t, args...)
	return brokenIn(t, out, stdout)
}

// brokenIn reads the report in a folder.
func brokenIn(t *testing.T, out, stdout string) map[string]uint64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err != nil {
		t.Fatalf("%v:\n%s", err, stdout)
	}
	var v check.Verdict
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	broken := map[string]uint64{}
	for _, c := range v.Checks {
		if c.Violated > 0 {
			broken[c.ID] = c.Violated
		}
	}
	return broken
}

// Whoever names no mutant that there is, is told which there are.
func TestMutantsAreNamed(t *testing.T) {
	if err := mutate("kindness"); err == nil {
		t.Error("there is a mutant of that name")
	}
	for name := range caught {
		if _, ok := part.Mutants()[name]; !ok {
			t.Errorf("there is no mutant %q", name)
		}
	}
}
