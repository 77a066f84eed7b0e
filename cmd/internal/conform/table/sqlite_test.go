package table_test

import (
	"path/filepath"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table/tabletest"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

func TestSQLite(t *testing.T) {
	s := &table.SQLite{Path: filepath.Join(t.TempDir(), "t.db")}
	if err := sqlite.Script(t.Context(), s.Path, "CREATE TABLE other (id INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	tabletest.Run(t, s)
}
