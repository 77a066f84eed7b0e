package e2e

import (
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table/tabletest"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// named are all relations, functions and triggers of a conformance run.
const named = `SELECT string_agg(n, ' ' ORDER BY n) FROM (SELECT relname AS n FROM pg_class UNION ALL SELECT proname FROM pg_proc UNION ALL SELECT tgname FROM pg_trigger) AS a
	WHERE n LIKE 'freshet\_conform%'`

func TestRealConformGuest(t *testing.T) {
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, "CREATE ROLE prover LOGIN", "CREATE ROLE nodes LOGIN", "CREATE PUBLICATION changes")
	db := &table.Postgres{URL: p.URL("prover", "")}
	look := func(want string) {
		t.Helper()
		if _, err := db.Look(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, and not: %s", err, want)
		}
	}
	look("GRANT CREATE ON SCHEMA public TO prover")
	stacktest.Exec(t, p, "GRANT CREATE ON SCHEMA public TO prover")
	setup, err := db.Setup(&table.Postgres{URL: p.URL("nodes", "")}, "changes")
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statement string) {
		t.Helper()
		stacktest.Exec(t, p, statement)
	}
	tabletest.RunGuest(t, db, setup, exec, func() string {
		t.Helper()
		out, err := p.Query(t.Context(), named)
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
	exec("ALTER TABLE " + table.Rows + " DROP COLUMN more")
	exec("ALTER TABLE " + table.Rows + " OWNER TO nodes")
	look("ALTER TABLE " + table.Rows + " OWNER TO prover")
	stacktest.Exec(t, p, "CREATE SCHEMA prover", "GRANT ALL ON SCHEMA prover TO prover")
	look("add search_path=public to the URL")
	db.URL = strings.Replace(p.URL("", ""), p.Address(), nobody, 1)
	look("start the server, or correct its host and port")
}
