package sqlite

import (
	"fmt"
	"os"
	"testing"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// A schema that was changed and changed back leaves a catalog that reads as
// before. The relay says nonetheless that anything may have happened to any
// table: whether it ran or was away.
func TestSchemaChangesUndone(t *testing.T) {
	for _, test := range []struct {
		name string
		sql  []string
	}{
		{"a column is added and dropped", []string{`ALTER TABLE users ADD COLUMN m DEFAULT 5`, `ALTER TABLE users DROP COLUMN m`}},
		{"a column is dropped and added", []string{`BEGIN; ALTER TABLE users DROP COLUMN n; ALTER TABLE users ADD COLUMN n; COMMIT`}},
		{"a column is renamed", []string{`ALTER TABLE users RENAME COLUMN n TO o`, `ALTER TABLE users RENAME COLUMN o TO n`}},
	} {
		for _, away := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, away %v", test.name, away), func(t *testing.T) {
				f := two(t)
				before := catalogOf(f)
				if away {
					f.log.Close()
				}
				f.exec(test.sql...)
				if after := catalogOf(f); after != before {
					t.Fatalf("the catalog tells of it:\n%s", after)
				}
				if away {
					after := f.after
					f.reopen()
					f.after = after
				}
				f.want("S orders", "S users")
				f.want()
				f.exec(`UPDATE users SET n = 2`)
				f.want("U email=a,id=1 > id=1,email=a,nick=A,n=2!")
			})
		}
	}
}

// What was seen of the schema lasts over restarts: one change of another table
// in each run of the relay, and one between them, make nothing void.
func TestSchemaIsKnownAfterRestart(t *testing.T) {
	f := two(t)
	for i := range 3 {
		f.exec(fmt.Sprintf(`CREATE TABLE run%d (id)`, i))
		f.want()
		after := f.after
		f.log.Close()
		f.exec(fmt.Sprintf(`CREATE TABLE between%d (id)`, i))
		f.reopen()
		f.after = after
		f.want()
	}
}

// A relay that does not know what was seen of the file before cannot say that
// nothing has happened.
func TestSchemaIsNotKnown(t *testing.T) {
	f := two(t)
	f.log.Close()
	if err := os.Remove(f.path + "-relay"); err != nil {
		t.Fatal(err)
	}
	after := f.after
	f.reopen()
	f.after = after
	f.want("S orders", "S users")
	f.want()
}

// What a relay does to the schema itself is no change that it missed.
func TestOwnSchemaChanges(t *testing.T) {
	f := two(t)
	f.exec(`DROP TRIGGER freshet_cdc_users_au`)
	f.want("S users")
	f.want()
	after := f.after
	f.specs = f.specs[:2] // the triggers of the other table go
	f.reopen()
	f.after = after
	if err := f.log.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.want()
	f.reopen()
	f.after = after
	f.want()
}

// two is a file with two tables and a row, all of it polled.
func two(t *testing.T) *fixture {
	f := newFixture(t, usersSchema+`CREATE TABLE orders (id INTEGER PRIMARY KEY)`,
		row.Spec{Name: "users", Table: "users"}, row.Spec{Name: "byemail", Table: "users", Key: []string{"email"}}, row.Spec{Name: "orders", Table: "orders"})
	f.exec(`INSERT INTO users VALUES (1, 'a', 'A', 1)`)
	f.changes()
	return f
}

func catalogOf(f *fixture) (text string) {
	f.Helper()
	err := f.client.QueryRow(`SELECT group_concat(coalesce(sql, name), char(10)) FROM (SELECT sql, name FROM sqlite_schema ORDER BY rowid)`).Scan(&text)
	if err != nil {
		f.Fatal(err)
	}
	return text
}
