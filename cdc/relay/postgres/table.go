package postgres

import (
	"cmp"
	"slices"

	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// table is one mapped table.
type table struct {
	name postgres.Name
	keys []string // key columns of all its use cases
}

// tablesOf returns the tables that the specs name, by name. A key that is left
// out is the primary key, which every change tells anyway.
func tablesOf(specs []row.Spec) ([]*table, error) {
	var tables []*table
	for _, spec := range specs {
		name, err := postgres.ParseName(spec.Table)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(tables, func(t *table) bool { return t.name == name })
		if i < 0 {
			i = len(tables)
			tables = append(tables, &table{name: name})
		}
		for _, column := range spec.Key {
			if t := tables[i]; !slices.Contains(t.keys, column) {
				t.keys = append(t.keys, column)
			}
		}
	}
	slices.SortFunc(tables, func(a, b *table) int {
		return cmp.Or(cmp.Compare(a.name.Schema, b.name.Schema), cmp.Compare(a.name.Table, b.name.Table))
	})
	return tables, nil
}

// description is a table as the catalog has it now.
type description struct {
	*postgres.Table
	shape []relationColumn // its columns as the log would describe them, but for what the identity is
}

// follower is a relation of the log whose rows are shipped: what its columns
// mean. Nobody can say that of a table that was altered meanwhile, but by the
// columns that are still there as they were.
type follower struct {
	*relation
	table    *table
	columns  []*postgres.Column // in the relation's order; nil: not known
	exact    bool               // the relation is the table as described
	identity []int              // the columns that place a row in a partition; none: it cannot be told
	keys     []int              // the columns that keys are made of, and the identity
	refills  bool               // all changes of a primary key come from one partition
}

// follow compares a relation with the table's description, nil if there is
// none.
func follow(r *relation, t *table, d *description) *follower {
	f := &follower{relation: r, table: t, columns: make([]*postgres.Column, len(r.columns))}
	if d == nil {
		return f
	}
	f.exact = sameShape(r.columns, d.shape)
	for i, c := range r.columns {
		if slices.ContainsFunc(d.shape, func(o relationColumn) bool { return o.name == c.name && o.typ == c.typ }) {
			f.columns[i] = d.Column(c.name)
		}
	}
	names := f.place(d)
	for _, name := range names {
		f.identity = append(f.identity, f.index(name))
	}
	for _, name := range append(slices.Clone(names), append(d.Primary(), t.keys...)...) {
		if i := f.index(name); !slices.Contains(f.keys, i) {
			f.keys = append(f.keys, i)
		}
	}
	if slices.ContainsFunc(f.keys, func(i int) bool { return i < 0 || f.columns[i] == nil }) {
		f.identity = nil
	}
	return f
}

// place returns the columns that say in which partition a row's changes go:
// the primary key, if every old row tells it. Otherwise the changes of one
// primary key may come from several partitions, so none may refill.
func (f *follower) place(d *description) []string {
	primary := d.Primary()
	told := func(name string) bool {
		return slices.ContainsFunc(f.relation.columns, func(c relationColumn) bool { return c.name == name && c.key })
	}
	full := f.relation.identity == 'f'
	if f.refills = len(primary) > 0 && !slices.ContainsFunc(primary, func(name string) bool { return !full && !told(name) }); f.refills {
		return primary
	}
	if full {
		return f.table.keys
	}
	var names []string
	for _, c := range f.relation.columns {
		if c.key {
			names = append(names, c.name)
		}
	}
	return names
}

func (f *follower) index(name string) int {
	return slices.IndexFunc(f.relation.columns, func(c relationColumn) bool { return c.name == name })
}

// sameShape compares columns, but for what the identity is.
func sameShape(a, b []relationColumn) bool {
	return slices.EqualFunc(a, b, func(x, y relationColumn) bool {
		x.key, y.key = false, false
		return x == y
	})
}
