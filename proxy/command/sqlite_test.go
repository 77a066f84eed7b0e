package command

import (
	"log/slog"
	"path/filepath"
	"testing"

	relay "github.com/freshet-cache/freshet/cdc/relay/sqlite"
	"github.com/freshet-cache/freshet/proxy/source/row"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// rowsAsBefore is what newFake holds, as far as a redis-server can.
const rowsAsBefore = `
	DELETE FROM key;
	DELETE FROM users;
	INSERT INTO users VALUES (42, 'Ann "A"', 'true', NULL);
`

// overSQLite returns sessions over a database, each of which finds the rows
// as they were before.
func overSQLite(t *testing.T) func() *Session {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.db")
	script := func(sql string) {
		t.Helper()
		if err := sqlite.Script(t.Context(), path, sql); err != nil {
			t.Fatal(err)
		}
	}
	script(`
		PRAGMA journal_mode = WAL;
		CREATE TABLE key (k TEXT NOT NULL PRIMARY KEY, v BLOB);
		CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, admin TEXT, note TEXT);
	`)
	specs := []row.Spec{{Name: "key", Table: "key", Column: "v"}, {Name: "users", Table: "users"}}
	outbox := relay.New(relay.Options{Path: path}, specs, slog.New(slog.DiscardHandler))
	defer outbox.Close()
	if err := outbox.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	source, catalog, err := sqlite.Open(t.Context(), sqlite.Options{Path: path}, specs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { source.Close() })
	commands := New(catalog, source, nil, Options{Scanner: source})
	return func() *Session {
		script(rowsAsBefore)
		return commands.NewSession()
	}
}

// The same streams mean the same where a database decides.
func TestSQLiteAgainstRedis(t *testing.T) {
	againstRedis(t, *streams/10, overSQLite(t))
}
