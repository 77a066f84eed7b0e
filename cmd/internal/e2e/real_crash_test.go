package e2e

import (
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

const (
	inAbsence = "it is away"
	inReturn  = "it is back"
)

// Clients of a tier of which a process is killed, and started again long after:
// those that asked it learn in a moment to ask others, and from then on nobody sees
// an error, nor when it is back.
func TestRealTierCrash(t *testing.T) {
	stacktest.Need(t)
	settings := newLight(t, "guests", "CREATE TABLE guests (id INTEGER PRIMARY KEY, v TEXT NOT NULL); "+rowsOf(guestKeys)+"INSERT INTO guests SELECT i, 'guest ' || i FROM n", guestUseCase)
	all := []string{"n1", "n2", "n3"}
	ps := newProcesses(t, settings, proofTimes+"0s", nil, all...)
	ps.begin(all...)
	ps.agree(all...)
	g := newGuests(t, ps)
	g.enter(inSteady)
	time.Sleep(10 * time.Second) // clients have learnt who owns what
	g.enter(inCrash)
	crashed := time.Now()
	if err := ps.nodes["n2"].Kill(); err != nil {
		t.Fatal(err)
	}
	ps.await("no request fails any more", func() bool { return g.quiet(crashed) > 5*time.Second })
	g.enter(inAbsence)
	time.Sleep(10 * time.Second) // its clients go on, and its keys are still its own
	g.enter(inReturn)
	ps.begin("n2")
	ps.agree(all...)
	time.Sleep(5 * time.Second) // clients are sent to it again
	g.end()
	t.Logf("\n%s", g.table())
	for phase, kinds := range g.seen {
		for kind, c := range kinds {
			if c.reads == 0 || c.wrong > 0 || c.failed > 0 && phase != inCrash {
				t.Errorf("%s, %s: of %d requests %d failed, and %d were answered wrongly: %v", phase, kind, c.reads, c.failed, c.wrong, c.says)
			}
		}
	}
}

// quiet is for how long no request has failed, since a moment.
func (g *guests) quiet(since time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, kinds := range g.seen {
		for _, c := range kinds {
			if c.last.After(since) {
				since = c.last
			}
		}
	}
	return time.Since(since)
}
