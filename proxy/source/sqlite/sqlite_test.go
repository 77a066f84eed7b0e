package sqlite_test

import (
	"context"
	"database/sql"
	"log/slog"
	"net/url"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cdc/relay/sqlite"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
	"github.com/freshet-cache/freshet/proxy/source/sourcetest"
	source "github.com/freshet-cache/freshet/proxy/source/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newFile makes a file with a schema and returns another client of it.
func newFile(t testing.TB, schema string) (path string, client *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a b?#%41.db") // a name that has to be escaped
	if err := source.Script(t.Context(), path, schema); err != nil {
		t.Fatal(err)
	}
	return path, openClient(t, path)
}

// openClient is a program that knows nothing of Freshet.
func openClient(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t testing.TB, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func install(t testing.TB, path string, specs ...row.Spec) {
	t.Helper()
	log := sqlite.New(sqlite.Options{Path: path}, specs, slog.New(slog.DiscardHandler))
	if err := log.Install(context.Background()); err != nil {
		t.Fatal(err)
	}
	log.Close()
}

func open(t testing.TB, path string, specs ...row.Spec) (*source.Source, *proxy.Catalog) {
	t.Helper()
	s, catalog, err := source.Open(t.Context(), source.Options{Path: path}, specs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, catalog
}

const suiteSchema = `
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT '' UNIQUE, n INTEGER);
CREATE TABLE pairs (a TEXT NOT NULL, b INTEGER NOT NULL, v TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID;
CREATE TABLE blobs (k TEXT PRIMARY KEY, v BLOB);`

func suiteSpecs() []row.Spec {
	return []row.Spec{
		{Name: sourcetest.Items, Table: "items"},
		{Name: sourcetest.ByName, Table: "items", Key: []string{"name"}},
		{Name: sourcetest.Pairs, Table: "pairs", Key: []string{"a", "b"}},
		{Name: sourcetest.Blobs, Table: "blobs", Column: "v"},
		{Name: sourcetest.Frozen, Table: "blobs", Column: "v", ReadOnly: true},
	}
}

func TestSuite(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) sourcetest.Fixture {
		path, client := newFile(t, suiteSchema)
		install(t, path, suiteSpecs()...)
		s, catalog := open(t, path, suiteSpecs()...)
		return sourcetest.Fixture{Source: s, Catalog: catalog, Followed: true,
			Exec: func(statement string) { exec(t, client, statement) }}
	})
}

func field(name, value string) []row.Field {
	return []row.Field{{Name: name, Kind: row.Text, Value: []byte(value)}}
}
