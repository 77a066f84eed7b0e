package tabletest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
)

// Guest is a database that may be somebody's.
type Guest interface {
	table.Database
	Look(ctx context.Context) (there bool, err error)
	Enter(ctx context.Context, there bool) error
	Clear(ctx context.Context) error
	Leave(ctx context.Context, there bool) error
}

// RunGuest tests how a run enters a database that has no table yet, and leaves
// it. setup makes the table there, and exec carries out a statement; names are
// those of everything whose name begins as ours do.
func RunGuest(t *testing.T, db Guest, setup []string, exec func(statement string), names func() string) {
	t.Run("no table", func(t *testing.T) {
		visit(t, db, false)
		if got := names(); got != "" {
			t.Errorf("left: %s", got)
		}
	})
	for _, statement := range setup {
		exec(statement)
	}
	before := names()
	t.Run("a table", func(t *testing.T) {
		visit(t, db, true)
		if got := names(); got != before {
			t.Errorf("left: %s, there was: %s", got, before)
		}
	})
	t.Run("a run is going on", func(t *testing.T) {
		enter(t, db, true)
		refused(t, db, "another run is going on", "DELETE FROM "+table.Rows, "DROP TABLE IF EXISTS "+table.Log)
		for _, there := range []bool{true, false} { // two that have looked before either entered
			if err := db.Enter(t.Context(), there); err == nil || errors.Is(err, table.ErrUnknown) || !strings.Contains(err.Error(), "another run is going on") {
				t.Errorf("entered twice: %v", err)
			}
		}
		if err := db.Leave(t.Context(), true); err != nil {
			t.Error(err)
		}
	})
	t.Run("not empty", func(t *testing.T) {
		exec("INSERT INTO " + table.Rows + " (id, alias, grp, val) VALUES (1, 'mine', 1, 'mine')")
		refused(t, db, "is not empty", "DELETE FROM "+table.Rows)
		exec("DELETE FROM " + table.Rows)
	})
	t.Run("another table", func(t *testing.T) {
		exec("ALTER TABLE " + table.Rows + " ADD COLUMN more integer")
		refused(t, db, "more integer")
	})
}

// visit is a whole visit: rows are written, and gone.
func visit(t *testing.T, db Guest, there bool) {
	t.Helper()
	enter(t, db, there)
	c := connect(t, db)
	write := func(value uint64) []table.Logged {
		if _, err := c.Transact(t.Context(), []table.Change{{Op: table.Put, ID: 5, Value: value}}, false); err != nil {
			t.Fatal(err)
		}
		logged, err := c.Since(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return logged
	}
	if logged := write(1); len(logged) != 1 {
		t.Errorf("logged: %v", logged)
	}
	if err := db.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if logged := write(2); len(logged) != 1 || logged[0].Value != 2 {
		t.Errorf("logged after it was cleared: %v", logged)
	}
	if err := db.Leave(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	if is, err := db.Look(t.Context()); err != nil || is != there {
		t.Errorf("afterwards there: %v, %v", is, err)
	}
}

func enter(t *testing.T, db Guest, there bool) {
	t.Helper()
	if is, err := db.Look(t.Context()); err != nil || is != there {
		t.Fatalf("there: %v, %v", is, err)
	}
	if err := db.Enter(t.Context(), there); err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, db Guest, words ...string) {
	t.Helper()
	_, err := db.Look(t.Context())
	for _, want := range words {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, and not: %s", err, want)
		}
	}
}
