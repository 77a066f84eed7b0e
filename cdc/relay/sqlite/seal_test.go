package sqlite

import (
	"context"
	"strings"
	"testing"
)

// What drops the triggers, changes rows, and creates the triggers again as
// they were, in one transaction, leaves a catalog that reads as before. The
// relay says nonetheless that anything may have happened to the table.
func TestTriggersCreatedAgain(t *testing.T) {
	for _, test := range []struct {
		name, glob, between string
	}{
		{"all of them", "*", `DELETE FROM users`},
		{"one of them", "*_au", `UPDATE users SET n = 100`},
		{"the last of the catalog", "*_ad", `DELETE FROM users`},
		{"with their table", "*", `CREATE TABLE x AS SELECT 1; ` + strings.Replace(usersSchema, "users", "other", 1) +
			`DROP TABLE users; ` + usersSchema + `DROP TABLE other; DROP TABLE x`},
	} {
		for _, vacuum := range []bool{false, true} {
			f := users(t)
			f.exec(`INSERT INTO users VALUES (1, 'a', 'A', 1)`)
			f.changes()
			if vacuum {
				f.exec(`VACUUM`)
				f.want() // which voids nothing
			}
			recreate(f, test.glob, test.between)
			if got := f.changes(); len(got) != 1 || got[0] != "S users" {
				t.Errorf("%s, vacuum %v: got %q", test.name, vacuum, got)
			}
			f.want()
			f.exec(`INSERT INTO users VALUES (2, 'b', 'B', 1)`)
			f.want("I > id=2,email=b,nick=B,n=1!")
		}
	}
}

func recreate(f *fixture, glob, between string) {
	f.Helper()
	ctx := context.Background()
	tx, err := f.client.BeginTx(ctx, nil)
	if err != nil {
		f.Fatal(err)
	}
	defer tx.Rollback()
	var drop, create []string
	rows, err := tx.Query(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name GLOB 'freshet_cdc_users' || ? ORDER BY rowid`, glob)
	if err != nil {
		f.Fatal(err)
	}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			f.Fatal(err)
		}
		drop, create = append(drop, "DROP TRIGGER "+name), append(create, text)
	}
	if err := rows.Err(); err != nil || len(drop) == 0 {
		f.Fatal(len(drop), err)
	}
	for _, s := range append(append(drop, between), create...) {
		if _, err := tx.Exec(s); err != nil {
			f.Fatalf("%s: %v", s, err)
		}
	}
	if err := tx.Commit(); err != nil {
		f.Fatal(err)
	}
}
