package table_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table/tabletest"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

func TestSQLiteGuest(t *testing.T) {
	s := &table.SQLite{Path: filepath.Join(t.TempDir(), "t.db")}
	exec := func(statement string) {
		t.Helper()
		if err := sqlite.Script(t.Context(), s.Path, statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE other (id INTEGER PRIMARY KEY)")
	tabletest.RunGuest(t, s, s.Setup(), exec, func() string {
		c, err := sqlite.Dial(t.Context(), s.Path, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var out bytes.Buffer
		err = c.Query(t.Context(), func(v []any) error {
			out.WriteString(v[0].(string) + " ")
			return nil
		}, "SELECT name FROM sqlite_schema WHERE name LIKE 'freshet_conform%' ORDER BY name")
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	})
}
