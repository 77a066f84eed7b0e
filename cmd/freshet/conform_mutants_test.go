//go:build mutants

package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
)

var (
	mutantSeeds = flag.Int("mutants.seeds", 1, "seeds with which each mutant must be caught by a conformance run")
	mutantFirst = flag.Int("mutants.first", 1, "the first of these seeds")
	mutantOnly  = flag.String("mutants.only", "", "the one mutant to catch; all of them take some minutes for each seed")
	within      = flag.Duration("mutants.within", 55*time.Second, "how long a run may take to catch a mutant")
)

// hunt says by which checks a run of the processes catches a mutant, and under
// which faults it shows. The run ends once one of them is violated.
type hunt struct {
	faults string
	checks []string
	whole  time.Duration // of a run that has to be whole, as what the checks are about is only known then
	with   []string      // more flags of the run
}

// The mixes of faults under which mutants show.
const (
	noFaults   = "none"
	lateFills  = "late answers of the source+late acknowledgements"
	lateStream = "stream delayed by 500ms"
	lateBoth   = "slow source+stream delayed by 100ms"
	images     = "images in between+images incomplete"
	otherLog   = "log cut under a frozen node,topic made anew"
)

var caught = map[string]hunt{
	"checkpoint-now":        {faults: noFaults, checks: []string{"C2", "C3", "C5"}},
	"clock-suspends":        {faults: "machine suspended", checks: []string{"C2", "C3", "C4", "C5"}},
	"drop-events":           {faults: noFaults, checks: []string{"C2", "C3", "C5"}},
	"drop-if-older":         {faults: "positions beyond", checks: []string{"C2", "C3", "C5"}},
	"epoch-before-position": {faults: "log cut under a frozen node far from its broker", checks: []string{"C2", "C3"}},
	"fingerprint-unread":    {faults: "column made anew", checks: []string{"C2", "C3"}},
	"gap-silent":            {faults: otherLog, checks: []string{"C2", "C3"}},
	"holes-ignored":         {faults: "changes lost", checks: []string{"C2", "C3", "C5"}},
	"ignore-insert":         {faults: noFaults, checks: []string{"C8"}, whole: 12 * time.Second},
	"install-unchecked":     {faults: lateFills, checks: []string{"C2", "C3", "C5"}},
	"install-written":       {faults: lateFills, checks: []string{"C2", "C3", "C5"}},
	"join-any":              {faults: lateFills, checks: []string{"C2", "C3", "C5", "C7"}},
	"old-primary-lifts":     {faults: "failover and a survivor", checks: []string{"C2", "C3"}},
	"refill-absent":         {faults: lateStream, checks: []string{"C5"}},
	"refill-incomplete":     {faults: images, checks: []string{"C0"}},
	"refill-not-last":       {faults: images, checks: []string{"C0"}},
	"refill-unpositioned":   {faults: lateStream, checks: []string{"C5"}},
	"replies-shifted":       {faults: noFaults, checks: []string{"C0"}, whole: 6 * time.Second},
	"session-token-is-asof": {faults: lateBoth, checks: []string{"C6"}},
	"token-is-commit-time":  {faults: "late acknowledgements,slow source", checks: []string{"C5"}},
	"truncate-one":          {faults: "deletes as truncates", checks: []string{"C2", "C3"}},
	"ttl-extended":          {faults: noFaults, checks: []string{"C4"}},
	"watermark-after-stamp": {faults: noFaults, checks: []string{"C2", "C3", "C4", "C5"}},
	"watermark-max":         {faults: "freeze", checks: []string{"C2", "C3"}},
}

// Each of these mutants is caught by a named check, and without it the same
// seeds are green: in the same build, at the same points, disturbed alike, and
// for as long as it took to catch any that shows under these faults.
func TestConformCatchesMutants(t *testing.T) {
	for seed := *mutantFirst; seed < *mutantFirst+*mutantSeeds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			took := map[string]time.Duration{}
			for _, name := range slices.Sorted(maps.Keys(caught)) {
				if !chosen(name) {
					continue
				}
				h := caught[name]
				t.Run(name, func(t *testing.T) { took[h.faults] = max(took[h.faults], h.catch(t, seed, name)) })
			}
			for _, faults := range slices.Sorted(maps.Keys(took)) {
				t.Run("none, "+faults, func(t *testing.T) {
					h := hunt{faults: faults, checks: []string{"C2", "C3", "C5"}}
					if v := h.run(t, seed, "none", took[faults]); len(broken(v)) > 0 {
						t.Errorf("without a mutant: %v, %v", broken(v), v.Violations)
					}
				})
			}
		})
	}
}

// catch returns for how long the run went on.
func (h hunt) catch(t *testing.T, seed int, name string) time.Duration {
	v := h.run(t, seed, name, cmp.Or(h.whole, *within))
	lasted := v.Ended.Sub(v.Run.At).Round(100 * time.Millisecond)
	t.Logf("after %v: %v", lasted, broken(v))
	if !slices.ContainsFunc(h.checks, func(id string) bool { return broken(v)[id] > 0 }) {
		t.Errorf("not caught by any of %v", h.checks)
	}
	return lasted
}

func (h hunt) run(t *testing.T, seed int, mutant string, lasts time.Duration) *check.Verdict {
	t.Helper()
	lasts = max(lasts.Round(time.Second), 6*time.Second)
	_, stdout, out := conforms(t, "--seed", fmt.Sprint(seed), "--duration", fmt.Sprint(lasts), "--faults", h.faults,
		"--until", strings.Join(h.checks, ","), "--mutant", mutant)
	return verdictIn(t, out, stdout)
}

func chosen(name string) bool { return *mutantOnly == "" || *mutantOnly == name }

// verdictIn reads the report in a folder.
func verdictIn(t *testing.T, out, stdout string) *check.Verdict {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err != nil {
		t.Fatalf("%v:\n%s", err, stdout)
	}
	var v check.Verdict
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return &v
}

// broken is how often a run violated which checks.
func broken(v *check.Verdict) map[string]uint64 {
	out := map[string]uint64{}
	for _, c := range v.Checks {
		if c.Violated > 0 {
			out[c.ID] = c.Violated
		}
	}
	return out
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
