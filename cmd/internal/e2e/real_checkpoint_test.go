package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cache/freshet/cdc/gate"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// asked is a source of a database with a table, as a node that follows a
// connector has it.
func asked(t *testing.T, p *stack.Postgres) (*postgres.Source, func() *proxy.Result) {
	t.Helper()
	stacktest.Exec(t, p, "CREATE TABLE things (id int PRIMARY KEY, v text)", "INSERT INTO things VALUES (1, 'a')")
	s, catalog, err := postgres.Open(t.Context(), postgres.Options{URL: p.URL("", ""), Horizons: true}, []row.Spec{{Name: "things", Table: "things"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	key, err := catalog.Key([]byte("things:1"))
	if err != nil {
		t.Fatal(err)
	}
	return s, func() *proxy.Result {
		t.Helper()
		results := make([]proxy.Result, 1)
		s.Load(t.Context(), []proxy.Request{{Key: key}}, results)
		if results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		return &results[0]
	}
}

// unlisted begins a transaction whose number no snapshot lists: none above it
// has ended.
func unlisted(t *testing.T, p *stack.Postgres) (xid uint64, commit func()) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), p.URL("", ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	if _, err = c.Exec(t.Context(), "BEGIN"); err == nil {
		err = c.QueryRow(t.Context(), "SELECT pg_current_xact_id()::text::int8").Scan(&xid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return xid, func() {
		if _, err := c.Exec(t.Context(), "COMMIT"); err != nil {
			t.Fatal(err)
		}
	}
}

// barrier asks for a horizon while a transaction runs that no snapshot lists,
// and returns whether a read that does not see it would pass for one that does.
func barrier(t *testing.T, p *stack.Postgres) (passes bool) {
	t.Helper()
	s, read := asked(t, p)
	xid, commit := unlisted(t, p)
	of, text, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown, err := gate.ParseSnapshot(text)
	if err != nil || len(shown.Running) > 0 || shown.Shows(shown.Widen(uint32(xid))) {
		t.Fatalf("snapshot %q, %v, though %d runs unlisted", text, err, xid)
	}
	whose, horizon, err := s.Horizon(t.Context())
	if err != nil || whose != of || of != read().Primary {
		t.Fatalf("horizon %d of %v, snapshot of %v, read of %v: %v", horizon, whose, of, read().Primary, err)
	}
	passes = read().Horizon >= horizon
	commit()
	if r := read(); r.Horizon < horizon || r.Horizon <= xid {
		t.Errorf("after the commit of %d a read has the horizon %d, and not %d", xid, r.Horizon, horizon)
	}
	if _, text, err = s.Snapshot(t.Context()); err == nil {
		shown, err = gate.ParseSnapshot(text)
	}
	if err != nil || !shown.Shows(shown.Widen(uint32(xid))) {
		t.Errorf("after its commit %q does not show %d: %v", text, xid, err)
	}
	return passes
}

// The number at which a node's barrier falls is above those of transactions
// that no snapshot lists.
func TestRealHorizon(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		if barrier(t, stacktest.Postgres(t, v)) {
			t.Error("a read passes that does not see a transaction from before")
		}
	})
}

// A heartbeat writes rows that count on, with a time from before its snapshot
// and a fingerprint that tells of schema changes and of nothing else.
func TestRealHeartbeat(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		s, read := asked(t, p)
		stacktest.Exec(t, p, `CREATE SCHEMA "Odd"`, `CREATE TABLE "Odd"."a'b.c" (id int PRIMARY KEY)`)
		tables, err := postgres.CheckpointTables("freshet_checkpoint", 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, rows := range []int{2, 3} { // the second time, a row is added
			for _, table := range tables {
				ddl, err := postgres.CheckpointRows(table, rows)
				if err != nil {
					t.Fatal(err)
				}
				stacktest.Exec(t, p, ddl...)
			}
		}
		mapped := []string{"things", `Odd."a'b.c"`}
		beat, err := postgres.Heartbeat{Tables: tables, Mapped: mapped, Slot: "a'b", Publication: "p"}.SQL()
		if err != nil || strings.ContainsAny(beat, "\n\\;") {
			t.Fatalf("%q: %v", beat, err)
		}
		facts := func() string {
			t.Helper()
			stacktest.Exec(t, p, beat)
			return query(t, p, fmt.Sprintf(`SELECT string_agg(DISTINCT concat_ws(' ', seq, t, system, timeline, started, slot, fingerprint), ' / ')
				FROM (SELECT * FROM %s UNION ALL SELECT * FROM %s) AS every`, tables[0], tables[1]))
		}
		before := time.Now()
		first := strings.Fields(facts())
		if len(first) != 7 {
			t.Fatalf("the rows of one heartbeat differ: %q", first)
		}
		id := read().Primary
		if want := fmt.Sprintf("1 %s %d %d %d a'b %s", first[1], id.System, id.Timeline, id.Started, first[6]); strings.Join(first, " ") != want {
			t.Errorf("%q, want %q", first, want)
		}
		var at int64
		if _, err := fmt.Sscan(first[1], &at); err != nil || time.Unix(0, at).Before(before.Truncate(time.Microsecond)) || time.Unix(0, at).After(time.Now()) {
			t.Errorf("T is %v, between %v and %v: %v", time.Unix(0, at), before, time.Now(), err)
		}
		if !strings.HasPrefix(first[6], postgres.Covers(mapped)) || strings.HasPrefix(first[6], postgres.Covers(mapped[:1])) {
			t.Errorf("fingerprint %q covers others than %q", first[6], mapped)
		}
		own := fingerprint(t, s)
		stacktest.Exec(t, p, "UPDATE things SET v = 'b'", "ANALYZE things", "CREATE INDEX ON things (v)", "COMMENT ON COLUMN things.v IS 'of all'",
			"VACUUM (FREEZE) things", "VACUUM (FREEZE) pg_class", "VACUUM (FREEZE) pg_attribute", "VACUUM (FULL, FREEZE) pg_attribute")
		second := strings.Fields(facts())
		if second[0] != "2" || second[6] != first[6] || fingerprint(t, s) != own {
			t.Errorf("%q after %q", second, first)
		}
		stacktest.Exec(t, p, "ALTER TABLE things ALTER v TYPE varchar USING v || 'x'")
		third := strings.Fields(facts())
		if third[6] == first[6] || fingerprint(t, s) == own {
			t.Errorf("a schema change is not told: %q after %q", third, first)
		}
		if !regexp.MustCompile(`^3 `).MatchString(strings.Join(third, " ")) {
			t.Errorf("the third heartbeat counts %q", third[0])
		}
		stacktest.Exec(t, p, postgres.CheckpointDDL) // a relay that uses the table, too
		if n := query(t, p, "SELECT count(*) FROM freshet_checkpoint WHERE seq = 3"); n != "3" {
			t.Errorf("%s rows count alike, want 3", n)
		}
	})
}

func fingerprint(t *testing.T, s *postgres.Source) string {
	t.Helper()
	f, err := s.Fingerprint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f
}
