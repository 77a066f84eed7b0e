//go:build mutants

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy/hook"
)

// Without the rule that a story is there for, the audit finds the entry, within
// seconds.
func TestAuditorFindsBrokenRules(t *testing.T) {
	broken := map[string][]hook.M{
		"a change is lost on its way":                       {hook.GapSilent, hook.HolesIgnored},
		"a primary key changes and its second half is lost": {hook.GapSilent, hook.HolesIgnored},
		"a partition falls silent":                          {hook.WatermarkMax},
		"a change passes a fill":                            {hook.InstallUnchecked},
		"a row comes where none was":                        {hook.IgnoreInsert},
		"a column is added":                                 {hook.FingerprintUnread},
	}
	for _, story := range stories {
		if len(broken[story.name]) == 0 {
			t.Errorf("no rule is there for: %s", story.name)
		}
		for _, m := range broken[story.name] {
			t.Run(fmt.Sprintf("%s/%d", story.name, m), func(t *testing.T) {
				a := audits(t, 1)
				hook.Set(m)
				t.Cleanup(func() { hook.Set(hook.None) })
				began := time.Now()
				key := story.tell(a)
				a.client.do("GET", key)
				a.finds(key)
				t.Logf("found after %v", time.Since(began).Round(time.Millisecond))
			})
		}
	}
}

// finds waits until the audit has found the entry of a key.
func (a *auditedNode) finds(key string) {
	a.t.Helper()
	eventually(a.t, "the entry is found", func() bool {
		for _, v := range a.violations(a.node) {
			if v.Key == key {
				return true
			}
		}
		return false
	})
}

// B29: one of a thousand changes is lost behind the tap, and checkpoints go on.
// The audit finds such entries by the changes that it follows, and where it
// follows none, by looking at what is held.
func TestAuditorFindsLostChanges(t *testing.T) {
	for name, oneIn := range map[string]int{"by change": 1, "by entry": never} {
		t.Run(name, func(t *testing.T) {
			a := audits(t, oneIn)
			const users = 4000
			for first := 1; first <= users; first += 100 {
				command := []string{"MGET"}
				for id := first; id < first+100; id++ {
					command = append(command, fmt.Sprintf("users:%d", id))
				}
				a.client.do(command...)
			}
			hook.Set(hook.DropEvents)
			t.Cleanup(func() { hook.Set(hook.None) })
			began := time.Now()
			// What a round has lost the next one would mend, so each goes on until all
			// that is held was looked at some times, however long that takes.
			const rounds, looks = 5, 10
			for round := 0; len(a.violations(a.node)) == 0; round++ {
				if round == rounds {
					t.Fatal("never: a lost change is found") // that a round loses none happens to one in fifty
				}
				var script strings.Builder // each statement a transaction
				for id := 1; id <= users; id++ {
					fmt.Fprintf(&script, "UPDATE users SET credit = credit + 1 WHERE id = %d;", id)
				}
				a.sql(script.String())
				reads := func() float64 { return a.metric(a.node, "freshet_audit_source_reads_total") }
				for before := reads(); reads() < before+looks*users && len(a.violations(a.node)) == 0; {
					time.Sleep(100 * time.Millisecond)
				}
			}
			v := a.violations(a.node)[0]
			if name == "by entry" && v.By != "entry" {
				t.Errorf("got %+v", v)
			}
			t.Logf("%d entries found after %v, the first by %s", len(a.violations(a.node)), time.Since(began).Round(time.Millisecond), v.By)
		})
	}
}
