package e2e

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// A read that waits for a change of its table's shape sees rows as they are
// after it. PostgreSQL would show it no rows where the table is written anew,
// and rows that are gone with columns that they never had, if its snapshot was
// taken before the wait.
func TestRealReadsThatWaitForDDL(t *testing.T) {
	const rows = 40
	p := stacktest.Postgres(t, stack.PG15)
	pooler := stacktest.PgBouncer(t, p, "transaction", 4)
	for name, change := range map[string]struct {
		statements []string
		want       string
	}{
		"written anew":    {[]string{"ALTER TABLE %[1]s ALTER v TYPE text USING 'new'"}, "new"},
		"gone before it":  {[]string{"DELETE FROM %[1]s", "ALTER TABLE %[1]s DROP v, ADD v text DEFAULT 'new'"}, ""},
		"another column":  {[]string{"ALTER TABLE %[1]s DROP v, ADD v text DEFAULT 'new'"}, "new"},
		"there before it": {[]string{"UPDATE %[1]s SET v = 'newer'", "ALTER TABLE %[1]s ADD w int"}, "newer"},
	} {
		for _, by := range []struct {
			url  string
			keys int // one statement, a few, one for all
		}{{p.URL("", ""), 1}, {p.URL("", ""), 3}, {p.URL("", ""), 20}, {pooler.URL(), 1}, {pooler.URL(), 3}} {
			keys := by.keys
			t.Run(fmt.Sprintf("%s, %d keys, pooled %v", name, keys, by.url != p.URL("", "")), func(t *testing.T) {
				const table = "altered"
				stacktest.Exec(t, p, "DROP TABLE IF EXISTS "+table, fmt.Sprintf("CREATE TABLE %s (id int PRIMARY KEY, v text)", table),
					fmt.Sprintf("INSERT INTO %s SELECT i, 'old' FROM generate_series(1, %d) AS i", table, rows))
				s, catalog, err := postgres.Open(t.Context(), postgres.Options{URL: by.url, StatementTimeout: patience}, []row.Spec{{Name: "t", Table: table, Column: "v"}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				reqs, results := make([]proxy.Request, keys), make([]proxy.Result, keys)
				for i := range reqs {
					if reqs[i].Key, err = catalog.Key(fmt.Appendf(nil, "t:%d", i+1)); err != nil {
						t.Fatal(err)
					}
				}
				s.Load(t.Context(), reqs, results) // what is prepared is prepared

				conn, err := pgx.Connect(t.Context(), p.URL("", ""))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(t.Context())
				tx, err := conn.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, statement := range change.statements {
					if _, err := tx.Exec(t.Context(), fmt.Sprintf(statement, table)); err != nil {
						t.Fatal(err)
					}
				}
				loaded := make(chan struct{})
				go func() { defer close(loaded); s.Load(t.Context(), reqs, results) }()
				awaitQuery(t, p, "SELECT count(*) FROM pg_locks WHERE NOT granted", "1")
				if err := tx.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				<-loaded
				for i := range results {
					r, got := results[i], []byte(nil)
					if r.Row.Exists() {
						_, got, _ = r.Row.Lookup([]byte("v"))
					}
					if r.Err != nil || string(got) != change.want || r.Row.Exists() != (change.want != "") {
						t.Errorf("key %d: %q, %v; want %q", i, got, r.Err, change.want)
					}
				}
			})
		}
	}
}
