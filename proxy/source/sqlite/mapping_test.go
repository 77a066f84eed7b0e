package sqlite_test

import (
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy/source/row"
	source "github.com/freshet-cache/freshet/proxy/source/sqlite"
)

func TestRefused(t *testing.T) {
	for _, test := range []struct {
		schema string
		spec   row.Spec
		want   string
	}{
		{`CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)`, row.Spec{Key: []string{"b"}}, `CREATE UNIQUE INDEX … ON "t" (b)`},
		{`CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE)`, row.Spec{Key: []string{"b"}}, "declare it NOT NULL"},
		{`CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL); CREATE UNIQUE INDEX i ON t (b) WHERE a > 1`, row.Spec{Key: []string{"b"}}, "without WHERE"},
		{`CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL, c TEXT NOT NULL, UNIQUE (b, c))`, row.Spec{Key: []string{"b"}}, "unique"},
		{`CREATE TABLE t (a TEXT PRIMARY KEY COLLATE NOCASE)`, row.Spec{}, "compares as NOCASE"},
		{`CREATE TABLE t (a TEXT COLLATE RTRIM NOT NULL, PRIMARY KEY (a))`, row.Spec{}, "compares as RTRIM"},
		{`CREATE TABLE t (a REAL PRIMARY KEY)`, row.Spec{}, "1 and 1.0"},
		{`CREATE TABLE t (a DECIMAL(10, 2) PRIMARY KEY)`, row.Spec{}, "1 and 1.0"},
		{`CREATE TABLE t (a DATETIME PRIMARY KEY)`, row.Spec{}, "1 and 1.0"},
		{`CREATE TABLE t (a PRIMARY KEY)`, row.Spec{}, "no declared type"},
		{`CREATE TABLE t (a TEXT NOT NULL UNIQUE)`, row.Spec{Key: []string{"a"}}, "no primary key"},
		{`CREATE TABLE t (a INTEGER PRIMARY KEY)`, row.Spec{Column: "b"}, `no column "b" (it has a)`},
		{`CREATE TABLE t (a INTEGER PRIMARY KEY)`, row.Spec{Column: "A"}, `no column "A" (it has a)`},
		{`CREATE TABLE "T" (a INTEGER PRIMARY KEY)`, row.Spec{}, `spelled "T"`},
		{`CREATE TABLE u (a INTEGER PRIMARY KEY)`, row.Spec{}, "no table"},
		{`CREATE TABLE u (a INTEGER PRIMARY KEY); CREATE VIEW t AS SELECT * FROM u`, row.Spec{}, "is a view"},
		{`PRAGMA encoding = 'UTF-16'; CREATE TABLE t (a INTEGER PRIMARY KEY)`, row.Spec{}, "encoding"},
	} {
		path := t.TempDir() + "/test.db"
		_ = source.Script(t.Context(), path, test.schema) // the connection that makes it UTF-16 is refused as well
		test.spec.Name, test.spec.Table = "use", "t"
		_, err := source.Complete(t.Context(), path, time.Second, []row.Spec{test.spec})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %+v:\n got %v\nwant %q", test.schema, test.spec, err, test.want)
		}
	}
}

func TestCompleted(t *testing.T) {
	for _, test := range []struct {
		schema  string
		spec    row.Spec
		key     []row.KeyColumn
		primary bool
		columns string
	}{
		{`CREATE TABLE t (a INTEGER PRIMARY KEY, b, c AS (a + 1))`, row.Spec{}, []row.KeyColumn{{Name: "a", Kind: row.KeyInt}}, true, "a,b,c"},
		{`CREATE TABLE t (a INT PRIMARY KEY, b)`, row.Spec{Column: "b"}, []row.KeyColumn{{Name: "a", Kind: row.KeyInt}}, true, "b"},
		{`CREATE TABLE t (a VARCHAR(10) PRIMARY KEY)`, row.Spec{}, []row.KeyColumn{{Name: "a", Kind: row.KeyText}}, true, "a"},
		{`CREATE TABLE t (a BLOB, b TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID`, row.Spec{Key: []string{"a", "b"}},
			[]row.KeyColumn{{Name: "a", Kind: row.KeyBytes}, {Name: "b", Kind: row.KeyText}}, true, "a,b"},
		{`CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT COLLATE NOCASE NOT NULL); CREATE UNIQUE INDEX i ON t (b COLLATE BINARY)`,
			row.Spec{Key: []string{"b"}}, []row.KeyColumn{{Name: "b", Kind: row.KeyText}}, false, "a,b"},
		{`CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL, UNIQUE (b, a))`,
			row.Spec{Key: []string{"a", "b"}}, []row.KeyColumn{{Name: "a", Kind: row.KeyInt}, {Name: "b", Kind: row.KeyText}}, false, "a,b"},
	} {
		path, _ := newFile(t, test.schema)
		test.spec.Name, test.spec.Table = "use", "t"
		mappings, err := source.Complete(t.Context(), path, time.Second, []row.Spec{test.spec})
		if err != nil {
			t.Errorf("%s: %v", test.schema, err)
			continue
		}
		m := mappings[0]
		if got := strings.Join(m.Schema().Columns, ","); got != test.columns || m.Primary != test.primary || !equal(m.Columns, test.key) {
			t.Errorf("%s: key %v, primary %v, columns %s", test.schema, m.Columns, m.Primary, got)
		}
	}
}

func equal(a, b []row.KeyColumn) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestUseCaseTwice(t *testing.T) {
	path, _ := newFile(t, suiteSchema)
	_, _, err := source.Open(t.Context(), source.Options{Path: path}, []row.Spec{{Name: "a", Table: "items"}, {Name: "a", Table: "blobs"}})
	if err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("got %v", err)
	}
}
