package sqlite

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
	source "github.com/freshet-cache/freshet/proxy/source/sqlite"
)

func TestInstallTwiceChangesNothing(t *testing.T) {
	f := users(t)
	var before, after int
	version := func(v *int) {
		if err := f.client.QueryRow(`PRAGMA schema_version`).Scan(v); err != nil {
			t.Fatal(err)
		}
	}
	version(&before)
	f.reopen()
	if err := f.log.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	version(&after)
	if before != after {
		t.Errorf("schema version went from %d to %d", before, after)
	}
	f.want("S users") // still the first installation's
}

func TestRefusedTables(t *testing.T) {
	for schema, want := range map[string]string{
		`CREATE TABLE t (a TEXT NOT NULL UNIQUE)`:                                               "has no primary key",
		`CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE UNIQUE INDEX i ON t (lower(b))`: "generated column",
		`CREATE VIEW t AS SELECT 1 AS a`:                                                        "is a view",
		`CREATE TABLE other (a INTEGER PRIMARY KEY)`:                                            "there is no table",
		`CREATE TABLE T (a INTEGER PRIMARY KEY)`:                                                `spelled "T"`,
	} {
		f := &fixture{T: t, path: t.TempDir() + "/test.db", specs: []row.Spec{{Name: "t", Table: "t"}}}
		if err := source.Script(t.Context(), f.path, schema); err != nil {
			t.Fatal(err)
		}
		f.reopen()
		if err := f.log.Install(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", schema, err, want)
		}
	}
}

// Whatever is done to a table, what is shipped says so before the next
// checkpoint, and its changes are logged from then on.
func TestSchemaChanges(t *testing.T) {
	for _, test := range []struct {
		name string
		sql  string
		want []string
	}{
		{"add a column", `ALTER TABLE users ADD COLUMN m DEFAULT 5; UPDATE users SET n = 9`,
			[]string{"U email=a,id=1 > id=1,email=a,nick=A,n=9,m=5!", "S users"}},
		{"drop and create", `DROP TABLE users; ` + usersSchema + `INSERT INTO users VALUES (1, 'z', 'z', 0)`, []string{"S users"}},
		{"drop", `DROP TABLE users`, []string{"S users"}},
		{"rename", `ALTER TABLE users RENAME TO people; ` + usersSchema, []string{"S users"}},
		{"rename a key", `ALTER TABLE users RENAME COLUMN email TO mail`, []string{"S users"}},
		{"drop a trigger", `DROP TRIGGER freshet_cdc_users_au; UPDATE users SET n = 100`, []string{"S users"}},
		{"another unique index", `CREATE UNIQUE INDEX un ON users (n)`, []string{"S users"}},
		{"another index", `CREATE INDEX un ON users (n)`, nil},
		{"another table", `CREATE TABLE other (id)`, nil},
		{"one thing of everything", `VACUUM`, nil},
		{"what was not carried out", `BEGIN; ALTER TABLE users ADD COLUMN m; ALTER TABLE users DROP COLUMN m; ROLLBACK`, nil},
		{"a temporary table", `CREATE TEMP TABLE a (id); DROP TABLE a; CREATE TEMP TABLE b (id); DROP TABLE b`, nil},
		{"drop the outbox's own table", `DROP TABLE freshet_table`, []string{"S users"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := users(t)
			f.exec(`INSERT INTO users VALUES (1, 'a', 'A', 1)`)
			f.changes()
			f.exec(test.sql)
			f.want(test.want...)
			f.want()
		})
	}
}

func TestTableComesBack(t *testing.T) {
	f := users(t)
	f.exec(`DROP TABLE users`)
	f.want("S users")
	f.exec(usersSchema, `INSERT INTO users VALUES (1, 'a', 'A', 1)`)
	f.want("S users")
	f.exec(`UPDATE users SET n = 2`)
	f.want("U email=a,id=1 > id=1,email=a,nick=A,n=2!")
}

// A change of the schema while no relay runs is found at its start.
func TestSchemaChangeWhileAway(t *testing.T) {
	f := users(t)
	f.exec(`INSERT INTO users VALUES (1, 'a', 'A', 1)`)
	f.poll()
	if err := f.log.Ack(t.Context(), relay.Mark{Topic: 7, Through: f.after}); err != nil {
		t.Fatal(err)
	}
	f.log.Close()
	f.exec(`ALTER TABLE users ADD COLUMN m`)
	f.reopen()
	f.want("I > id=1,email=a,nick=A,n=1,m=null!", "S users") // the last row stays
}

// Use cases that want other keys of a table need other triggers.
func TestOtherUseCases(t *testing.T) {
	f := users(t)
	f.specs = []row.Spec{{Name: "users", Table: "users"}}
	f.exec(`INSERT INTO users VALUES (1, 'a', 'A', 1)`)
	f.reopen()
	f.want("S users", "I > id=1,email=a,nick=A,n=1!", "S users")
	f.specs = nil
	f.reopen()
	f.changes()
	f.exec(`UPDATE users SET n = 2`)
	f.want()
}

func TestDroppedOutbox(t *testing.T) {
	f := users(t)
	f.exec(`INSERT INTO users VALUES (1, 'a', 'A', 1)`)
	_, before := f.poll()
	f.exec(`DROP TABLE freshet_outbox`)
	if _, err := f.client.Exec(`UPDATE users SET n = 2`); err == nil {
		t.Error("a change went unlogged")
	}
	_, b := f.poll()
	if b.Source == before.Source {
		t.Error("a new outbox continues the history of the old one")
	}
}

func TestRestoredBackup(t *testing.T) {
	t.Run("while running", func(t *testing.T) { restoreBackup(t, false) })
	t.Run("while away", func(t *testing.T) { restoreBackup(t, true) })
}

func restoreBackup(t *testing.T, restarted bool) {
	f := users(t)
	f.exec(`INSERT INTO users VALUES (1, 'a', 'A', 1)`)
	backup := f.path + ".backup"
	f.exec(`VACUUM INTO '` + backup + `'`)
	f.exec(`UPDATE users SET n = 2`)
	for range 3 { // a life that the backup knows nothing of
		if err := f.log.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, before := f.poll()

	other := f.open("") // still on the old file
	if _, err := other.Exec(`UPDATE users SET n = 3`); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		os.Remove(f.path + suffix)
	}
	if err := os.Rename(backup, f.path); err != nil {
		t.Fatal(err)
	}
	if restarted {
		f.reopen() // which knows nothing of before
	}
	b, err := f.log.Poll(t.Context(), proxy.Position{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Source == before.Source || b.Source.System != before.Source.System || !before.Source.Precedes(b.Source) {
		t.Errorf("identity %+v after %+v", b.Source, before.Source)
	}
	if b.T != proxy.Never && b.T < before.T {
		t.Errorf("T %v after %v", b.T, before.T)
	}
}

func TestSecondRelayStandsBy(t *testing.T) {
	f := users(t)
	second := New(Options{Path: f.path}, f.specs, slog.New(slog.DiscardHandler))
	defer second.Close()
	if _, err := second.Poll(t.Context(), proxy.Position{}); err == nil || !strings.Contains(err.Error(), "stands by") {
		t.Errorf("got %v", err)
	}
	f.log.Close()
	if _, err := second.Poll(t.Context(), proxy.Position{}); err != nil {
		t.Error(err)
	}
}

func TestMissingFile(t *testing.T) {
	log := New(Options{Path: t.TempDir() + "/none.db"}, nil, slog.New(slog.DiscardHandler))
	defer log.Close()
	if _, err := log.Poll(t.Context(), proxy.Position{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
