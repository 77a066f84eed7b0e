package sqlite

import (
	"context"
	"strings"
)

// Affinity is what SQLite prefers to store in a column.
type Affinity uint8

// The affinities, as a column's declared type decides them.
const (
	Blob Affinity = iota // also of a column with no declared type
	Integer
	Real
	Textual
	Numeric
)

// Column is one column of a table.
type Column struct {
	Name      string
	Declared  string // the declared type
	Affinity  Affinity
	NotNull   bool
	Generated bool
}

// IndexColumn is one column of an index; Name is empty for an expression.
type IndexColumn struct {
	Name      string
	Collation string
}

// Index is one unique index.
type Index struct {
	Name    string
	Columns []IndexColumn
	Primary bool
	Partial bool
	SQL     string // empty if a constraint made it
}

// Table is one table as the catalog describes it.
type Table struct {
	Name    string
	SQL     string
	Columns []Column
	Primary []string // the primary key's columns in its order
	Unique  []Index  // without the rowid
	Alias   string   // the column that is the rowid, or ""
	Rowid   string   // a name for the hidden rowid, or "": there is none, or it is Alias
}

// Column returns the column of that name, or nil.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// Describe reads a table from the catalog. The error says what is wrong with
// it and how to mend it.
func Describe(ctx context.Context, c *Conn, name string) (*Table, error) {
	t := &Table{Name: name}
	withoutRowid, err := t.find(ctx, c)
	if err != nil {
		return nil, err
	}
	primary, err := t.readColumns(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := t.readIndexes(ctx, c); err != nil {
		return nil, err
	}
	t.nameRowid(primary, withoutRowid)
	return t, nil
}

func (t *Table) find(ctx context.Context, c *Conn) (withoutRowid bool, err error) {
	kind := ""
	err = c.Query(ctx, func(v []any) error {
		if spelled := v[0].(string); spelled != t.Name {
			return unfit("table %q is spelled %q in the database: spell it so", t.Name, spelled)
		}
		kind, withoutRowid = v[1].(string), v[2].(int64) != 0
		t.SQL, _ = v[3].(string)
		return nil
	}, `SELECT l.name, l.type, l.wr, m.sql FROM pragma_table_list AS l
		LEFT JOIN sqlite_schema AS m ON m.name = l.name AND m.type IN ('table', 'view')
		WHERE l.schema = 'main' AND l.name = ? COLLATE NOCASE`, t.Name)
	switch {
	case err != nil:
		return false, err
	case kind == "":
		return false, unfit("there is no table %q: create it, or correct the use case's table", t.Name)
	case kind != "table":
		return false, unfit("%q is a %s, and only tables tell what changes in them: map the table under it", t.Name, kind)
	}
	return withoutRowid, nil
}

func (t *Table) readColumns(ctx context.Context, c *Conn) (primary int, err error) {
	byRank := map[int64]string{}
	err = c.Query(ctx, func(v []any) error {
		hidden := v[4].(int64)
		if hidden == 1 { // a virtual table's own
			return nil
		}
		declared := v[1].(string)
		t.Columns = append(t.Columns, Column{
			Name: v[0].(string), Declared: declared, Affinity: affinityOf(declared),
			NotNull: v[2].(int64) != 0, Generated: hidden != 0,
		})
		if rank := v[3].(int64); rank > 0 {
			byRank[rank] = v[0].(string)
		}
		return nil
	}, `SELECT name, type, "notnull", pk, hidden FROM pragma_table_xinfo(?)`, t.Name)
	for rank := int64(1); rank <= int64(len(byRank)); rank++ {
		t.Primary = append(t.Primary, byRank[rank])
	}
	return len(byRank), err
}

func (t *Table) readIndexes(ctx context.Context, c *Conn) error {
	err := c.Query(ctx, func(v []any) error {
		sql, _ := v[3].(string)
		t.Unique = append(t.Unique, Index{
			Name: v[0].(string), Primary: v[1].(string) == "pk", Partial: v[2].(int64) != 0, SQL: sql,
		})
		return nil
	}, `SELECT l.name, l.origin, l.partial, m.sql FROM pragma_index_list(?) AS l
		LEFT JOIN sqlite_schema AS m ON m.type = 'index' AND m.name = l.name
		WHERE l."unique" ORDER BY l.name`, t.Name)
	if err != nil {
		return err
	}
	for i := range t.Unique {
		x := &t.Unique[i]
		err := c.Query(ctx, func(v []any) error {
			name, _ := v[0].(string)
			x.Columns = append(x.Columns, IndexColumn{Name: name, Collation: strings.ToUpper(v[1].(string))})
			return nil
		}, `SELECT name, coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno`, x.Name)
		if err != nil {
			return err
		}
	}
	return nil
}

// nameRowid finds out which name the rowid answers to. A primary key of one
// INTEGER column without an index of its own is the rowid.
func (t *Table) nameRowid(primary int, withoutRowid bool) {
	if withoutRowid {
		return
	}
	indexed := false
	for _, x := range t.Unique {
		indexed = indexed || x.Primary
	}
	if primary == 1 && !indexed {
		t.Alias = t.Primary[0]
		return
	}
	for _, name := range []string{"rowid", "_rowid_", "oid"} {
		taken := false
		for _, col := range t.Columns {
			taken = taken || strings.EqualFold(col.Name, name)
		}
		if !taken {
			t.Rowid = name
			return
		}
	}
}

// affinityOf is SQLite's own rule, in its order ("Determination Of Column
// Affinity" in its documentation of datatypes).
func affinityOf(declared string) Affinity {
	d := strings.ToUpper(declared)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(d, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("INT"):
		return Integer
	case has("CHAR", "CLOB", "TEXT"):
		return Textual
	case has("BLOB") || d == "":
		return Blob
	case has("REAL", "FLOA", "DOUB"):
		return Real
	}
	return Numeric
}
