package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// change is a write as SQL: the statements it may take, which share their
// arguments. The key's come first.
type change struct {
	write   *proxy.Write
	reading *reading
	key     [][]byte
	args    [][]byte
	columns []string // that a Put sets, quoted
	values  []string // their parameters, with their types
}

// compile makes a write into SQL, or refuses it.
func (r *reading) compile(w *proxy.Write) (*change, error) {
	ch := &change{write: w, reading: r}
	var err error
	if ch.key, err = bindKey(w.Key); err != nil {
		return nil, err
	}
	ch.args = slices.Clone(ch.key)
	for _, f := range w.Fields {
		col := r.table.Column(f.Name)
		if col == nil {
			return nil, &proxy.RejectedError{Reason: fmt.Sprintf("table %s has no column %s", r.table.Name, f.Name)}
		}
		if slices.ContainsFunc(r.shape.key, func(k row.KeyColumn) bool { return k.Name == f.Name }) {
			return nil, &proxy.RejectedError{Reason: fmt.Sprintf("column %s is part of the key", f.Name)}
		}
		ch.args = append(ch.args, bindValue(col, f))
		ch.columns = append(ch.columns, quote(col.Name))
		ch.values = append(ch.values, "$"+strconv.Itoa(len(ch.args))+"::"+col.Declared)
	}
	return ch, nil
}

// statement carries out the whole write. It reports by how many rows it
// changes, or returns, whether that was done.
//
// A Put changes the row, and where there is none inserts one. An INSERT with
// ON CONFLICT alone would not do: it asks for a new row that could be, and
// columns that must be given refuse it, whatever row is there. If a row appears
// between the two, neither does anything, and the statement is to be repeated.
func (ch *change) statement() *command {
	switch {
	case ch.write.Op == proxy.Delete:
		return ch.remove()
	case ch.write.If == proxy.IfAbsent:
		return ch.insert()
	case ch.write.If == proxy.IfPresent:
		return ch.update()
	}
	found := "SELECT 1 FROM " + ch.table() + " WHERE " + ch.reading.where(1)
	if len(ch.columns) > 0 {
		found = ch.update().sql + " RETURNING 1"
	}
	return &command{args: ch.args, sql: "WITH u AS (" + found + "), i AS (" + ch.insertion(" WHERE NOT EXISTS (SELECT FROM u)") +
		" RETURNING 1) SELECT 1 FROM u UNION ALL SELECT 1 FROM i"}
}

func (ch *change) table() string { return ch.reading.table.Name.SQL() + " AS t" }

// lock reads the row as it is, and keeps others from changing it.
func (ch *change) lock(take func(fields []pgconn.FieldDescription, values [][]byte) error) *command {
	return &command{sql: ch.reading.find + " FOR UPDATE OF t", args: ch.key, row: take}
}

func (ch *change) remove() *command {
	return &command{sql: "DELETE FROM " + ch.table() + " WHERE " + ch.reading.where(1), args: ch.key}
}

// update changes the row that is there. If nothing is to be set, it only looks.
func (ch *change) update() *command {
	if len(ch.columns) == 0 {
		return &command{sql: ch.reading.find + " FOR UPDATE OF t", args: ch.key}
	}
	set := make([]string, len(ch.columns))
	for i, c := range ch.columns {
		set[i] = c + " = " + ch.values[i]
	}
	return &command{sql: "UPDATE " + ch.table() + " SET " + strings.Join(set, ", ") + " WHERE " + ch.reading.where(1), args: ch.args}
}

func (ch *change) insert() *command { return &command{sql: ch.insertion(""), args: ch.args} }

// insertion inserts a row, on a condition, if there is none of that key. A key
// that the database would give out itself (GENERATED ALWAYS) is given all the
// same: it is the key that was asked for.
func (ch *change) insertion(where string) string {
	var columns, values []string
	for i, k := range ch.reading.shape.key {
		columns = append(columns, quote(k.Name))
		values = append(values, fmt.Sprintf("$%d::%s", i+1, keyTypes[k.Kind]))
	}
	target := strings.Join(columns, ", ")
	return fmt.Sprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s%s ON CONFLICT (%s) DO NOTHING", ch.table(),
		strings.Join(append(columns, ch.columns...), ", "), strings.Join(append(values, ch.values...), ", "), where, target)
}
