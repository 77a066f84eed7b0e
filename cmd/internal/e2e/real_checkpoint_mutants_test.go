//go:build mutants

package e2e

import (
	"testing"

	"github.com/freshet-cache/freshet/cdc/gate"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy/hook"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// A snapshot's list of running transactions leaves one out, and a read that
// does not see it passes.
func TestRealBarrierWithoutHorizon(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		hook.Set(hook.BarrierFromList)
		defer hook.Set(hook.None)
		if !barrier(t, stacktest.Postgres(t, v)) {
			t.Error("the mutant does no harm: this test sees nothing")
		}
	})
}

// A standby calls a transaction visible that still runs on its primary.
func TestRealSnapshotWithoutPrimary(t *testing.T) {
	stacktest.Need(t)
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, "CREATE TABLE things (id int PRIMARY KEY)")
	standby := stacktest.Standby(t, p, "replica")
	s, _, err := postgres.Open(t.Context(), postgres.Options{URL: p.URL("", ""), Replicas: []string{standby.URL("", "")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	xid, commit := unlisted(t, p)
	defer commit()
	stacktest.Exec(t, p, "INSERT INTO things VALUES (1)") // one above it ends
	awaitQuery(t, standby, "SELECT count(*) FROM things", "1")
	shows := func() bool {
		t.Helper()
		_, text, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		shown, err := gate.ParseSnapshot(text)
		if err != nil {
			t.Fatal(err)
		}
		return shown.Shows(shown.Widen(uint32(xid)))
	}
	if shows() {
		t.Errorf("the primary shows %d, which still runs", xid)
	}
	hook.Set(hook.GateAsksReplica)
	defer hook.Set(hook.None)
	if !shows() {
		t.Error("the mutant does no harm: this test sees nothing")
	}
}
