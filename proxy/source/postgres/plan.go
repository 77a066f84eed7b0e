package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// useCase is one mapping and how it is read now.
type useCase struct {
	mapping *row.Mapping
	name    Name
	reading atomic.Pointer[reading]
}

// reading is how a use case is read and written under one description of its
// table. Immutable.
type reading struct {
	generation uint64
	err        error // why it cannot be read: the table is gone, say
	pinned     bool  // what a change leaves is not what this user may read
	table      *Table
	shape      *shape
	columns    []*Column // of the statements' answers: the key's, then the value's
	one        string    // a head and the row of one key
	find       string    // the row of one key
	many       string    // the rows of the keys in arrays
	scanFirst  string    // the first keys
	scanAfter  string    // the keys behind one
}

// learn describes the use case's table anew.
func (u *useCase) learn(ctx context.Context, c *Conn) (*reading, error) {
	generation := u.mapping.Generation()
	r := &reading{generation: generation}
	t, err := Describe(ctx, c, u.name)
	if err == nil {
		r.shape, err = fit(u.mapping.Spec, t)
	}
	if err == nil && !slices.Equal(r.shape.key, u.mapping.Columns) {
		err = unfit("the key columns of table %s have other types than at the start: start again", u.name)
	}
	var unfit *UnfitError
	switch {
	case errors.As(err, &unfit):
		r.err = err
		u.mapping.Learn(generation, nil)
	case err != nil:
		return nil, err
	default:
		r.prepare(t, u.mapping.Spec, c.opts.Horizons)
		u.mapping.Learn(generation, r.shape.schema)
	}
	u.reading.Store(r)
	return r, nil
}

// current returns how the use case is read, and describes the table first if
// it may have changed.
func (u *useCase) current(ctx context.Context, c *Conn) (*reading, error) {
	if r := u.reading.Load(); r != nil && r.err == nil && r.generation == u.mapping.Generation() {
		return r, nil
	}
	return u.learn(ctx, c)
}

// prepare writes the statements. A whole row is read as "t.*", so that a
// column that was added is seen at once and not only once the stream tells of
// it.
func (r *reading) prepare(t *Table, spec row.Spec, horizon bool) {
	r.table, r.pinned = t, t.Filtered
	list := make([]string, 0, len(r.shape.key)+1)
	for i, k := range r.shape.key {
		r.columns = append(r.columns, t.Column(k.Name))
		list = append(list, fmt.Sprintf("t.%s AS k%d", quote(k.Name), i))
	}
	for _, name := range r.shape.schema.Columns {
		r.columns = append(r.columns, t.Column(name))
	}
	value := "t.*"
	if spec.Column != "" {
		value = "t." + quote(spec.Column)
	}
	selected, table := strings.Join(append(list, value), ", "), t.Name.SQL()+" AS t"
	r.find = "SELECT " + selected + " FROM " + table + " WHERE " + r.where(1)
	r.one = "SELECT h.*, " + selected + " FROM (SELECT " + headList(horizon, committed) + ") AS h LEFT JOIN " + table + " ON " + r.where(1)
	r.many = "SELECT " + selected + " FROM " + r.joined(table)
	r.scanFirst, r.scanAfter = r.scans(strings.Join(list, ", "), table)
}

// keyTypes are the types that key columns are compared with. An integer is
// compared as the widest, so that a key beyond a column's range is no row, and
// not an error.
var keyTypes = [...]string{row.KeyText: "text", row.KeyInt: "int8", row.KeyBytes: "bytea", row.KeyUUID: "uuid"}

// where selects the row of the key whose parts begin at that parameter.
func (r *reading) where(first int) string {
	terms := make([]string, len(r.shape.key))
	for i, k := range r.shape.key {
		terms[i] = fmt.Sprintf("t.%s = $%d::%s", quote(k.Name), first+i, keyTypes[k.Kind])
	}
	return strings.Join(terms, " AND ")
}

// joined selects the rows of many keys, each column's parts in an array. There
// is one statement for any number of them.
func (r *reading) joined(table string) string {
	if k := r.shape.key; len(k) == 1 {
		return fmt.Sprintf("%s WHERE t.%s = ANY ($1::%s[])", table, quote(k[0].Name), keyTypes[k[0].Kind])
	}
	var arrays, names, terms []string
	for i, k := range r.shape.key {
		name := "w" + strconv.Itoa(i)
		names = append(names, name)
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, keyTypes[k.Kind]))
		terms = append(terms, "t."+quote(k.Name)+" = w."+name)
	}
	return fmt.Sprintf("pg_catalog.unnest(%s) AS w (%s) JOIN %s ON %s",
		strings.Join(arrays, ", "), strings.Join(names, ", "), table, strings.Join(terms, " AND "))
}

// errStale: the answer's columns are not those the catalog had.
var errStale = errors.New("the table has changed")

// verify compares the columns of an answer with those expected.
func (r *reading) verify(fields []pgconn.FieldDescription) error {
	if len(fields) != len(r.columns) {
		return errStale
	}
	for i, c := range r.columns {
		if fields[i].DataTypeOID != c.Type || i >= len(r.shape.key) && fields[i].Name != c.Name {
			return errStale
		}
	}
	return nil
}

// decode makes the key and the value of one row of an answer. The key is nil
// if there is no row.
func (r *reading) decode(m *row.Mapping, values [][]byte) (key []byte, value row.Row, err error) {
	fields := make([]row.Field, len(values))
	for i, c := range r.columns {
		fields[i] = c.Field(values[i])
	}
	n := len(r.shape.key)
	key, ok := m.Key(fields[:n])
	if !ok {
		return nil, row.Row{}, nil
	}
	if value, ok = row.Encode(r.shape.schema, fields[n:]); !ok {
		return nil, row.Row{}, errors.New("the server's texts are not those of the settings asked for")
	}
	return key, value, nil
}
