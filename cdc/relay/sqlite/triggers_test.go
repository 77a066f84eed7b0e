package sqlite

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

const usersSchema = `CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, nick TEXT COLLATE NOCASE UNIQUE, n);`

func users(t *testing.T) *fixture {
	return newFixture(t, usersSchema, row.Spec{Name: "users", Table: "users"}, row.Spec{Name: "byemail", Table: "users", Key: []string{"email"}})
}

func TestStatements(t *testing.T) {
	for _, test := range []struct {
		name string
		sql  string
		want []string
	}{
		{"insert", `INSERT INTO users VALUES (3, 'c', 'C', 1)`, []string{"I > id=3,email=c,nick=C,n=1!"}},
		{"update", `UPDATE users SET n = 7 WHERE id = 1`, []string{"U email=a,id=1 > id=1,email=a,nick=A,n=7!"}},
		{"another key", `UPDATE users SET email = 'x' WHERE id = 1`, []string{"U email=a,id=1 > id=1,email=x,nick=A,n=1!"}},
		{"another primary key", `UPDATE users SET id = 9 WHERE id = 1`, []string{"D email=a,id=1!", "I > id=9,email=a,nick=A,n=1!"}},
		{"delete all", `DELETE FROM users`, []string{"D email=a,id=1!", "D email=b,id=2!"}},
		{"replace by primary key", `INSERT OR REPLACE INTO users VALUES (1, 'z', 'Z', 2)`,
			[]string{"T email=a,id=1", "I > id=1,email=z,nick=Z,n=2!"}},
		{"replace by unique key", `INSERT OR REPLACE INTO users VALUES (3, 'a', 'Z', 2)`,
			[]string{"T email=a,id=1!", "I > id=3,email=a,nick=Z,n=2!"}},
		{"replace by unmapped key in its collation", `INSERT OR REPLACE INTO users VALUES (3, 'c', 'b', 2)`,
			[]string{"T email=b,id=2!", "I > id=3,email=c,nick=b,n=2!"}},
		{"replace two rows", `REPLACE INTO users (email, nick, n) VALUES ('a', 'b', 2)`,
			[]string{"T email=a,id=1!", "T email=b,id=2!", "I > id=3,email=a,nick=b,n=2!"}},
		{"update or replace", `UPDATE OR REPLACE users SET email = 'b' WHERE id = 1`,
			[]string{"T email=b,id=2!", "U email=a,id=1 > id=1,email=b,nick=A,n=1!"}},
		{"update or replace the primary key", `UPDATE OR REPLACE users SET id = 2 WHERE id = 1`,
			[]string{"T email=b,id=2", "D email=a,id=1!", "I > id=2,email=a,nick=A,n=1!"}},
		{"insert or ignore", `INSERT OR IGNORE INTO users VALUES (1, 'q', 'q', 2)`, []string{"T email=a,id=1!"}},
		{"upsert", `INSERT INTO users VALUES (1, 'q', 'q', 2) ON CONFLICT (id) DO UPDATE SET n = excluded.n`,
			[]string{"T email=a,id=1", "U email=a,id=1 > id=1,email=a,nick=A,n=2!"}},
		{"rolled back", `BEGIN; UPDATE users SET n = 7; ROLLBACK`, nil},
		{"savepoint", `BEGIN; UPDATE users SET n = 7 WHERE id = 1; SAVEPOINT s; DELETE FROM users; ROLLBACK TO s; COMMIT`,
			[]string{"U email=a,id=1 > id=1,email=a,nick=A,n=7!"}},
		{"changed twice", `UPDATE users SET n = 7 WHERE id = 1; UPDATE users SET n = 8 WHERE id = 1`,
			[]string{"U email=a,id=1 > email=a,id=1", "U email=a,id=1 > id=1,email=a,nick=A,n=8!"}},
		{"inserted and deleted", `INSERT INTO users VALUES (3, 'c', 'C', 1); DELETE FROM users WHERE id = 3`,
			[]string{"I > email=c,id=3", "D email=c,id=3!"}},
		{"a value of another class in a key", `UPDATE users SET email = x'61' WHERE id = 1`,
			[]string{"U email=a,id=1 > id=1,email=a,nick=A,n=1!"}},
		{"odd bytes", `UPDATE users SET email = 'x' || char(0) || ',:é' WHERE id = 1`,
			[]string{"U email=a,id=1 > id=1,email=x\x00,:é,nick=A,n=1!"}},
		{"vacuum", `VACUUM`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := users(t)
			f.exec(`INSERT INTO users VALUES (1, 'a', 'A', 1), (2, 'b', 'B', 2)`)
			f.changes()
			f.exec(test.sql)
			f.want(test.want...)
		})
	}
}

// A statement that fails in its middle keeps what it did up to there, and
// SQLite's count of the outbox is then behind: no sequence comes twice.
func TestOrFail(t *testing.T) {
	f := users(t)
	f.log.opts.KeepRows = 1
	f.exec(`INSERT INTO users VALUES (1, 'a', 'A', 1), (2, 'b', 'B', 2)`)
	f.changes()
	for i := range 3 {
		_, before := f.poll()
		if _, err := f.client.Exec(`INSERT OR FAIL INTO users VALUES (?, ?, NULL, 3), (1, 'x', 'X', 4)`, 10+i, fmt.Sprint(i)); err == nil {
			t.Fatal("the statement did not fail")
		}
		f.want(fmt.Sprintf("I > id=%d,email=%d,nick=null,n=3!", 10+i, i), "T email=a,id=1!")
		_, after := f.poll()
		if after.End.Commit != before.End.Commit+2 {
			t.Errorf("sequence %d after %d", after.End.Commit, before.End.Commit)
		}
		if err := f.log.Ack(t.Context(), relay.Mark{Topic: 1, Through: f.after}); err != nil {
			t.Fatal(err)
		}
	}
}

// The program most people change a file with is another build of SQLite.
func TestCommandLineClient(t *testing.T) {
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("sqlite3 is not installed: apt-get install sqlite3")
	}
	f := users(t)
	out, err := exec.Command(shell, f.path, `INSERT INTO users VALUES (1, 'a', 'A', 1), (2, 'b', 'B', 2);
		INSERT OR REPLACE INTO users VALUES (3, 'a', 'b', 5);`).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f.want("I > email=a,id=1", "I > email=b,id=2", "T email=a,id=1!", "T email=b,id=2!", "I > id=3,email=a,nick=b,n=5!")
}

func TestHiddenRowidConflicts(t *testing.T) {
	f := newFixture(t, `CREATE TABLE kv (k TEXT PRIMARY KEY, v)`, row.Spec{Name: "kv", Table: "kv"})
	f.exec(`INSERT INTO kv (rowid, k, v) VALUES (1, 'a', 1), (2, 'b', 2)`)
	f.changes()
	f.exec(`INSERT OR REPLACE INTO kv (rowid, k, v) VALUES (1, 'c', 3)`)
	f.want("T k=a!", "I > k=c,v=3!")
	f.exec(`UPDATE OR REPLACE kv SET rowid = 2 WHERE k = 'c'`)
	f.want("T k=b!", "U k=c > k=c,v=3!")
}

// A partial index is in conflict with the rows it covers, and is looked up
// by its own condition: without it each insert would scan the table.
func TestPartialIndexConflicts(t *testing.T) {
	f := newFixture(t, `CREATE TABLE jobs (id INTEGER PRIMARY KEY, owner TEXT, state TEXT);
		CREATE UNIQUE INDEX [one where] ON jobs (owner) /* where */ WHERE state = 'where (' -- the rest`,
		row.Spec{Name: "jobs", Table: "jobs"})
	f.exec(`INSERT INTO jobs VALUES (1, 'a', 'where ('), (2, 'a', 'done')`)
	f.changes()
	f.exec(`INSERT OR REPLACE INTO jobs VALUES (3, 'a', 'where (')`)
	f.want("T id=1!", "I > id=3,owner=a,state=where (!")
	var plan strings.Builder
	rows, err := f.client.Query(`EXPLAIN QUERY PLAN SELECT 1 FROM jobs AS o WHERE o.owner = 'a' AND (state = 'where (')`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var a, b, c int
		var detail string
		if err := rows.Scan(&a, &b, &c, &detail); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(detail)
	}
	if !strings.Contains(plan.String(), "one where") {
		t.Errorf("the index is not used: %s", plan.String())
	}
}

func TestGeneratedColumnConflicts(t *testing.T) {
	f := newFixture(t, `CREATE TABLE g (id INTEGER PRIMARY KEY, a TEXT, low TEXT AS (lower(a)) STORED UNIQUE, up TEXT AS (upper(a)))`,
		row.Spec{Name: "g", Table: "g"})
	f.exec(`INSERT INTO g (id, a) VALUES (1, 'x'), (2, 'y')`)
	f.changes()
	f.exec(`INSERT OR REPLACE INTO g (id, a) VALUES (3, 'X')`)
	f.want("T id=1!", "I > id=3,a=X,low=x,up=X!")
	f.exec(`UPDATE OR REPLACE g SET a = 'Y' WHERE id = 3`)
	f.want("T id=2!", "U id=3 > id=3,a=Y,low=y,up=Y!")
}

// What other triggers and foreign keys do is a change like any other.
func TestIndirectChanges(t *testing.T) {
	f := newFixture(t, `CREATE TABLE parent (id INTEGER PRIMARY KEY, n);
		CREATE TABLE child (id INTEGER PRIMARY KEY, parent REFERENCES parent ON DELETE CASCADE ON UPDATE SET NULL);
		CREATE TRIGGER again AFTER UPDATE OF n ON parent BEGIN UPDATE parent SET n = NEW.n * 10 WHERE id = NEW.id; END;`,
		row.Spec{Name: "parent", Table: "parent"}, row.Spec{Name: "child", Table: "child"})
	f.exec(`PRAGMA foreign_keys = ON`, `INSERT INTO parent VALUES (1, 1), (2, 2)`, `INSERT INTO child VALUES (5, 1), (6, 2)`)
	f.changes()
	f.exec(`DELETE FROM parent WHERE id = 1`)
	f.want("D id=5!", "D id=1!")
	f.exec(`UPDATE parent SET n = 3 WHERE id = 2`)
	f.want("U id=2 > id=2", "U id=2 > id=2,n=30!")
	f.exec(`UPDATE parent SET id = 3 WHERE id = 2`)
	f.want("U id=6 > id=6,parent=null!", "D id=2!", "I > id=3,n=30!")
}
