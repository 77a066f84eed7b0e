package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// plan is how each use case is read and written under one version of the
// schema. Immutable.
type plan struct {
	version int64
	of      map[*row.Mapping]*reading
}

// reading is one use case's part of a plan.
type reading struct {
	err    error // why it cannot be read: the table is gone, say
	pinned bool  // nothing tells when its rows change
	schema *row.Schema
	table  *Table
	where  string // selects one row by the key's parts
	find   string // the place 0 and the value's columns of that row
	many   string // the same of manyKeys keys, each with its place among them

	scanFirst, scanAfter string // list keys
}

// errPlanOld: the snapshot has another schema than the plan.
var errPlanOld = errors.New("the schema has changed")

// fits reports whether p is right for a snapshot and still published.
func (p *plan) fits(h Head, m *row.Mapping) bool {
	if p == nil || p.version != h.SchemaVersion {
		return false
	}
	r := p.of[m]
	return r.err != nil || r.schema == m.Schema()
}

// generations reads how often each mapping was told to forget its schema. It
// comes before the snapshot in which the catalog is read, or that snapshot
// could be older than the news.
func (s *Source) generations() []uint64 {
	g := make([]uint64, len(s.mappings))
	for i, m := range s.mappings {
		g[i] = m.Generation()
	}
	return g
}

// learn brings the plan up to date.
func (s *Source) learn(ctx context.Context) error {
	generations := s.generations()
	return s.readers.use(ctx, func(c *Conn) error {
		return c.Snapshot(ctx, func() error {
			var version int64
			if err := c.Row(ctx, []any{&version}, "PRAGMA schema_version"); err != nil {
				return err
			}
			_, err := s.replan(ctx, c, version, generations)
			return err
		})
	})
}

// replan makes a plan from the catalog of the current snapshot and publishes
// it and its schemas.
func (s *Source) replan(ctx context.Context, c *Conn, version int64, generations []uint64) (*plan, error) {
	p := &plan{version: version, of: map[*row.Mapping]*reading{}}
	tables := map[string]*Table{}
	old := s.plan.Load()
	for i, m := range s.mappings {
		t := tables[m.Table]
		if t == nil {
			var err error
			if t, err = Describe(ctx, c, m.Table); err != nil {
				if !errors.As(err, new(*UnfitError)) { // the catalog could not be read at all
					return nil, err
				}
				p.of[m] = &reading{err: unavailable(c.path, err)}
				continue
			}
			tables[m.Table] = t
		}
		r := newReading(c.path, m, t)
		if old != nil && r.err == nil && old.of[m].err == nil && slices.Equal(old.of[m].schema.Columns, r.schema.Columns) {
			r.schema = old.of[m].schema // rows that share a schema compare faster
		}
		p.of[m] = r
		if r.err != nil {
			continue
		}
		ok, err := followed(ctx, c, t, m.Columns)
		if err != nil {
			return nil, err
		}
		r.pinned = !ok
		m.Learn(generations[i], r.schema)
	}
	s.plan.Store(p)
	return p, nil
}

func newReading(path string, m *row.Mapping, t *Table) *reading {
	fitted, err := fit(m.Spec, t)
	if err == nil && !slices.Equal(fitted.key, m.Columns) {
		err = fmt.Errorf("the key columns of table %q have other types than at start: start again", m.Table)
	}
	if err != nil {
		return &reading{err: unavailable(path, err)}
	}
	r := &reading{schema: fitted.schema, table: t, where: whereKey(m.Columns)}
	values := valueList(fitted.schema.Columns)
	r.find = "SELECT 0, " + values + " FROM " + Quote(t.Name) + " AS t WHERE " + r.where
	r.many = manyRows(t.Name, m.Columns, values)
	r.scanFirst, r.scanAfter = scans(t, m.Columns)
	return r
}

// valueList selects columns as expressions: of a bare column the driver would
// turn some values into others, by the column's declared type.
func valueList(columns []string) string {
	list := make([]string, len(columns))
	for i, name := range columns {
		list[i] = "+t." + Quote(name)
	}
	return strings.Join(list, ", ")
}

// whereKey selects the one row that has a key. The storage class is part of
// the condition since a REAL may equal an integer, whose spelling it has not.
// Columns are qualified, or SQLite would take a name it does not know for a
// text.
func whereKey(columns []row.KeyColumn) string {
	terms := make([]string, len(columns))
	for i, col := range columns {
		terms[i] = keyTerm(col, "?"+strconv.Itoa(i+1))
	}
	return strings.Join(terms, " AND ")
}

// keyTerm compares one key column. An integer is compared as a range of one:
// from k = 1 SQLite concludes that typeof(k) is typeof(1), and asks no row.
func keyTerm(col row.KeyColumn, with string) string {
	name := "t." + Quote(col.Name)
	switch class := " AND typeof(" + name + ") = '" + classes[col.Kind] + "'"; col.Kind {
	case row.KeyInt:
		return name + " BETWEEN " + with + " AND " + with + class
	case row.KeyText:
		return name + " COLLATE BINARY = " + with + class
	default:
		return name + " = " + with + class
	}
}

// manyKeys is how many keys one statement takes at most. A statement costs
// about 20 µs whatever it finds, and a key in it 4 µs.
const manyKeys = 32

// manyRows selects the rows of several keys: the keys are a table that the
// rows are joined to, in this order, so that each is found by its index. A
// place that is not used is NULL, which equals nothing.
func manyRows(table string, columns []row.KeyColumn, values string) string {
	var names, terms []string
	for i, col := range columns {
		name := "k" + strconv.Itoa(i)
		names = append(names, name)
		terms = append(terms, keyTerm(col, "w."+name))
	}
	rows := make([]string, manyKeys)
	for i := range rows {
		rows[i] = fmt.Sprintf("(%d%s)", i, strings.Repeat(", ?", len(columns)))
	}
	return "WITH w (place, " + strings.Join(names, ", ") + ") AS (VALUES " + strings.Join(rows, ", ") + ") SELECT w.place, " + values +
		" FROM w CROSS JOIN " + Quote(table) + " AS t WHERE " + strings.Join(terms, " AND ")
}

// bindKeyParts returns the arguments that select the row of a key.
func bindKeyParts(key proxy.Key) ([]any, error) {
	m := key.UseCase.Mapping
	parts, err := m.Parts(key.Text)
	if err != nil {
		return nil, &proxy.BadKeyError{Reason: err.Error()}
	}
	args := make([]any, len(parts), len(parts)+1)
	for i, p := range parts {
		if args[i], err = bindKey(m.Columns[i].Kind, p); err != nil {
			return nil, &proxy.BadKeyError{Reason: err.Error()}
		}
	}
	return args, nil
}
