package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// newLight is a database file, a broker and a relay in this process, with what
// processes over them are configured with: figures of nodes alone need no
// more.
func newLight(t *testing.T, name, create, useCase string) (settings string) {
	t.Helper()
	u := mapped(name, name, time.Hour)
	u.Column = "v"
	s := newStack(t, u)
	if err := sqlite.Script(t.Context(), s.config.Source.SQLite.Path, create); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.broker().Close)
	s.relay()
	return fmt.Sprintf(`
source: {sqlite: {path: %q}}
stream: {kafka: {brokers: [%q], topic: %q}}
use_cases:
%s`, s.config.Source.SQLite.Path, s.config.Stream.Kafka.Brokers[0], s.config.Stream.Kafka.Topic, useCase)
}

// rowsOf makes rows in SQLite: of numbers below n.
func rowsOf(n int) string {
	return fmt.Sprintf("WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", n-1)
}

// fadeRun is a tier of five that two more join, ten seconds apart.
func fadeRun(t *testing.T, settings, window string) *misses {
	t.Helper()
	all := []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7"}
	ps := newProcesses(t, settings, proofTimes+window, nil, all...)
	ps.begin(all[:5]...)
	ps.agree(all[:5]...)
	g := newGuests(t, ps)
	g.enter("all")
	time.Sleep(15 * time.Second) // all is read, and a tier's first window is over
	m := ps.watch()
	time.Sleep(8 * time.Second)
	m.mark("the 6th joins")
	ps.begin(all[5])
	time.Sleep(10 * time.Second)
	m.mark("the 7th joins")
	ps.begin(all[6])
	ps.agree(all...)
	time.Sleep(8 * time.Second)
	g.end()
	m.end()
	for _, name := range all {
		if err := ps.nodes[name].Kill(); err != nil {
			t.Error(err)
		}
	}
	return m
}

// What nodes that join cost in misses, with and without a window.
func TestRealTierFade(t *testing.T) {
	stacktest.Need(t)
	settings := newLight(t, "guests", "CREATE TABLE guests (id INTEGER PRIMARY KEY, v TEXT NOT NULL); "+rowsOf(guestKeys)+"INSERT INTO guests SELECT i, 'guest ' || i FROM n", guestUseCase)
	for _, window := range []string{"8s", "0s"} {
		m := fadeRun(t, settings, window)
		rate, fills := m.worst("the 6th joins")
		t.Logf("window %s: at worst %.1f %% of the reads of two seconds were fills, %.0f in all since the first joined", window, 100*rate, fills)
		keep(t, "fade-"+window+".csv", m.numbers())
		keep(t, "fade-"+window+".svg", m.picture("Share of reads that were fills while two of seven nodes join, window "+window, 0.25))
		if len(m.points) == 0 || fills == 0 {
			t.Errorf("window %s: nothing was counted", window)
		}
	}
}
