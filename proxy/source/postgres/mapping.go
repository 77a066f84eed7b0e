package postgres

import (
	"slices"
	"strings"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// shape is what a spec and a table make together.
type shape struct {
	key     []row.KeyColumn
	primary bool
	index   []string // the key columns in the order of the index that finds them
	schema  *row.Schema
}

// fit completes a spec by its table, or says why it cannot be served.
func fit(spec row.Spec, t *Table) (*shape, error) {
	if err := followable(t); err != nil {
		return nil, err
	}
	key := spec.Key
	if len(key) == 0 {
		key = t.Primary()
	}
	for _, name := range append(slices.Clone(key), columnOf(spec)...) {
		if t.Column(name) == nil {
			return nil, unfit("table %s has no column %q (it has %s)", t.Name, name, strings.Join(names(t), ", "))
		}
	}
	s := &shape{primary: sameColumns(key, t.Primary()), schema: &row.Schema{Columns: names(t)}}
	if spec.Column != "" {
		s.schema = &row.Schema{Columns: []string{spec.Column}}
	}
	for _, name := range key {
		kind, err := keyKind(t.Column(name))
		if err != nil {
			return nil, err
		}
		s.key = append(s.key, row.KeyColumn{Name: name, Kind: kind})
	}
	var err error
	if s.index, err = uniqueness(t, key); err != nil {
		return nil, err
	}
	return s, identified(t, key)
}

func columnOf(spec row.Spec) []string {
	if spec.Column == "" {
		return nil
	}
	return []string{spec.Column}
}

func names(t *Table) []string {
	out := make([]string, len(t.Columns))
	for i := range t.Columns {
		out[i] = t.Columns[i].Name
	}
	return out
}

func sameColumns(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// uniqueness verifies that an index holds the key to one row, and returns the
// key's columns in that index's order.
func uniqueness(t *Table, key []string) ([]string, error) {
	list := quoteList(key)
	var near *Index
	for i := range t.Unique {
		x := &t.Unique[i]
		if !sameColumns(x.Columns, key) {
			continue
		}
		if near = x; x.Partial || x.Deferred || !x.Usable {
			continue
		}
		for _, name := range key {
			if !t.Column(name).NotNull {
				return nil, unfit("column %q of table %s may be NULL, and a NULL is no key: ALTER TABLE %s ALTER COLUMN %s SET NOT NULL",
					name, t.Name, t.Name.SQL(), quote(name))
			}
		}
		return x.Columns, nil
	}
	create := "CREATE UNIQUE INDEX ON " + t.Name.SQL() + " (" + list + ")"
	switch {
	case near == nil:
		return nil, unfit("nothing says that (%s) is unique in table %s: %s", list, t.Name, create)
	case near.Partial:
		return nil, unfit("unique index %q on %s covers some rows only: %s", near.Name, t.Name, create)
	case near.Deferred:
		return nil, unfit("unique index %q on %s is DEFERRABLE, so two rows may have one key for a while: make the constraint NOT DEFERRABLE", near.Name, t.Name)
	}
	return nil, unfit("unique index %q on %s is invalid, or compares in another way than its columns: %s", near.Name, t.Name, create)
}

// keyKind says how a key column is spelled, if every value of it has exactly
// one spelling, and equal values are equal bytes.
func keyKind(c *Column) (row.KeyKind, error) {
	switch c.Type {
	case typeInt2, typeInt4, typeInt8:
		return row.KeyInt, nil
	case typeUUID:
		return row.KeyUUID, nil
	case typeBytea:
		return row.KeyBytes, nil
	case typeText, typeVarchar:
		if c.Bytewise {
			return row.KeyText, nil
		}
		return 0, unfit("key column %q compares as %s, a collation in which several spellings are one value: map a column with a deterministic collation", c.Name, c.Collation)
	}
	return 0, unfit("key column %q is of type %s, whose values have several spellings, or spellings that settings change: map columns of type smallint, integer, bigint, text, varchar, uuid or bytea",
		c.Name, strings.ReplaceAll(strings.TrimPrefix(c.Declared, "pg_catalog."), `"`, ""))
}

func quoteList(columns []string) string {
	quoted := make([]string, len(columns))
	for i, name := range columns {
		quoted[i] = quote(name)
	}
	return strings.Join(quoted, ", ")
}
