package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	schema *row.Schema
	table  *Table
	find   string // selects the value's columns by the key's parts
	where  string
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
		if r.err == nil {
			m.Learn(generations[i], r.schema)
		}
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
	r.find = "SELECT " + valueList(fitted.schema.Columns) + " FROM " + Quote(t.Name) + " AS t WHERE " + r.where
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
		name := "t." + Quote(col.Name)
		collate := ""
		if col.Kind == row.KeyText {
			collate = " COLLATE BINARY"
		}
		terms[i] = fmt.Sprintf("%s%s = ?%d AND typeof(%s) = '%s'", name, collate, i+1, name, Class(col.Kind))
	}
	return strings.Join(terms, " AND ")
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
