package sqlite

import (
	"slices"
	"strings"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// shape is what a spec and a table make together.
type shape struct {
	key     []row.KeyColumn
	primary bool
	schema  *row.Schema
}

// fit completes a spec by its table, or says why it cannot be served.
func fit(spec row.Spec, t *Table) (*shape, error) {
	if err := Followable(t); err != nil {
		return nil, err
	}
	key := spec.Key
	if len(key) == 0 {
		key = t.Primary
	}
	for _, name := range append(slices.Clone(key), columnOf(spec)...) {
		if t.Column(name) == nil {
			return nil, unfit("table %q has no column %q (it has %s)", t.Name, name, strings.Join(names(t), ", "))
		}
	}
	s := &shape{primary: sameColumns(key, t.Primary), schema: &row.Schema{Columns: names(t)}}
	if spec.Column != "" {
		s.schema = &row.Schema{Columns: []string{spec.Column}}
	}
	collations, err := uniqueness(t, key, s.primary)
	if err != nil {
		return nil, err
	}
	for _, name := range key {
		kind, err := keyKind(t.Column(name), collations[name])
		if err != nil {
			return nil, err
		}
		s.key = append(s.key, row.KeyColumn{Name: name, Kind: kind})
	}
	return s, nil
}

func columnOf(spec row.Spec) []string {
	if spec.Column == "" {
		return nil
	}
	return []string{spec.Column}
}

func names(t *Table) []string {
	out := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = c.Name
	}
	return out
}

func sameColumns(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// uniqueness verifies that an index holds the key to one row, and returns the
// collation in which that index compares each column. NULLs are distinct in
// an index, so several rows could have a NULL: none of them has a key. In a
// primary key, where SQLite allows them by an old mistake of its own, that is
// harmless and usual ("k TEXT PRIMARY KEY"); elsewhere it is refused, since
// it says that the rows without a key are meant.
func uniqueness(t *Table, key []string, primary bool) (map[string]string, error) {
	if len(key) == 1 && key[0] == t.Alias {
		return map[string]string{t.Alias: "BINARY"}, nil
	}
	partial := ""
	for _, x := range t.Unique {
		collations := map[string]string{}
		for _, c := range x.Columns {
			collations[c.Name] = c.Collation
		}
		if len(collations) != len(key) || !containsAll(collations, key) {
			continue
		}
		if x.Partial {
			partial = x.Name
			continue
		}
		for _, name := range key {
			if !primary && !t.Column(name).NotNull && name != t.Alias {
				return nil, unfit("column %q of table %q may be NULL, and a NULL is no key: declare it NOT NULL", name, t.Name)
			}
		}
		return collations, nil
	}
	list := strings.Join(key, ", ")
	if partial != "" {
		return nil, unfit("unique index %q on %q covers some rows only: create one without WHERE on (%s)", partial, t.Name, list)
	}
	return nil, unfit("nothing says that (%s) is unique in table %q: CREATE UNIQUE INDEX … ON %s (%s)", list, t.Name, Quote(t.Name), list)
}

func containsAll(set map[string]string, keys []string) bool {
	for _, k := range keys {
		if _, ok := set[k]; !ok {
			return false
		}
	}
	return true
}

// keyKind says how a key column is spelled, if every value of it has exactly
// one spelling.
func keyKind(c *Column, collation string) (row.KeyKind, error) {
	const mend = "map a column of type INTEGER, TEXT or BLOB"
	switch {
	case c.Affinity == Integer:
		return row.KeyInt, nil
	case c.Affinity == Textual && collation == "BINARY":
		return row.KeyText, nil
	case c.Affinity == Textual:
		return 0, unfit("key column %q compares as %s, so several spellings are one row: create its unique index with COLLATE BINARY", c.Name, collation)
	case c.Declared == "":
		return 0, unfit("key column %q has no declared type, so 1 and '1' are two rows: %s", c.Name, mend)
	case c.Affinity == Blob:
		return row.KeyBytes, nil
	}
	return 0, unfit("key column %q is declared %s, where 1 and 1.0 are one row: %s", c.Name, c.Declared, mend)
}
