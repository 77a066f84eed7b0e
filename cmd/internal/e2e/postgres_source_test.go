package e2e

import (
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
	"github.com/freshet-cache/freshet/proxy/source/sourcetest"
)

// database is a PostgreSQL database with a client that knows nothing of
// Freshet.
type database struct {
	*testing.T
	url    string
	mu     sync.Mutex // one statement at a time
	client *pgx.Conn
}

func newDatabase(t *testing.T, url, schema string) *database {
	t.Helper()
	client, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	d := &database{T: t, url: url, client: client}
	t.Cleanup(func() { client.Close(t.Context()) })
	d.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO public")
	d.exec(schema)
	return d
}

func (d *database) exec(statement string) {
	d.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.client.PgConn().Exec(d.Context(), statement).ReadAll(); err != nil {
		d.Fatalf("%s: %v", statement, err)
	}
}

func (d *database) open(o postgres.Options, specs ...row.Spec) (*postgres.Source, *proxy.Catalog) {
	d.Helper()
	if o.URL == "" {
		o.URL = d.url
	}
	s, catalog, err := postgres.Open(d.Context(), o, specs)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { s.Close() })
	return s, catalog
}

const suiteSchema = `
CREATE TABLE items (id bigint PRIMARY KEY, name text NOT NULL DEFAULT '' UNIQUE, n int);
ALTER TABLE items REPLICA IDENTITY FULL;
CREATE TABLE pairs (a text NOT NULL, b bigint NOT NULL, v text, PRIMARY KEY (b, a));
CREATE TABLE blobs (k varchar PRIMARY KEY, v bytea);`

func suiteSpecs() []row.Spec {
	return []row.Spec{
		{Name: sourcetest.Items, Table: "items"},
		{Name: sourcetest.ByName, Table: "items", Key: []string{"name"}},
		{Name: sourcetest.Pairs, Table: "public.pairs", Key: []string{"a", "b"}},
		{Name: sourcetest.Blobs, Table: "blobs", Column: "v"},
		{Name: sourcetest.Frozen, Table: "blobs", Column: "v", ReadOnly: true},
	}
}

func runSuite(t *testing.T, clientURL, sourceURL string) {
	sourcetest.Run(t, func(t *testing.T) sourcetest.Fixture {
		d := newDatabase(t, clientURL, suiteSchema)
		s, catalog := d.open(postgres.Options{URL: sourceURL}, suiteSpecs()...)
		return sourcetest.Fixture{Source: s, Catalog: catalog, Followed: true, Exec: d.exec}
	})
}

func TestRealPostgresSource(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		runSuite(t, p.URL("", ""), p.URL("", ""))
	})
}

// Behind a pooler the same holds. In transaction mode three sessions serve all
// connections, so that hardly any two transactions meet in one.
func TestRealPostgresSourceBehindPgBouncer(t *testing.T) {
	stacktest.Need(t)
	p := stacktest.Postgres(t, stack.PG15)
	for mode, size := range map[string]int{"session": 20, "transaction": 3} {
		t.Run(mode, func(t *testing.T) {
			runSuite(t, p.URL("", ""), stacktest.PgBouncer(t, p, mode, size).URL())
		})
	}
}

// tryLoad reads keys.
func tryLoad(t *testing.T, s *postgres.Source, catalog *proxy.Catalog, keys ...string) []proxy.Result {
	t.Helper()
	reqs, results := make([]proxy.Request, len(keys)), make([]proxy.Result, len(keys))
	for i, text := range keys {
		key, err := catalog.Key([]byte(text))
		if err != nil {
			t.Fatalf("key %q: %v", text, err)
		}
		reqs[i].Key = key
	}
	s.Load(t.Context(), reqs, results)
	return results
}

// keysOf are the keys 1 to n of a use case.
func keysOf(useCase string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s:%d", useCase, i+1)
	}
	return keys
}
