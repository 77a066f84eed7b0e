package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// statement is one write, ready for the writer.
type statement struct {
	update string // tried first, with the same arguments; "": nothing is
	query  string // if update changed no row
	args   []any
	rows   int64
	err    error
}

// Apply hands the writes to the writer and waits for the commit. If ctx ends
// first, a write that has not begun is withdrawn, and the outcome of one that
// has is unknown.
func (s *Source) Apply(ctx context.Context, writes []proxy.Write, results []proxy.Written) {
	fail := func(err error) {
		for i := range results {
			results[i] = proxy.Written{Err: err}
		}
	}
	if err := s.learnIfOld(ctx, writes); err != nil {
		fail(unavailable(s.opts.Path, err))
		return
	}
	p := s.plan.Load()
	j := &job{statements: make([]statement, len(writes)), done: make(chan struct{})}
	for i := range writes {
		j.statements[i] = p.of[writes[i].Key.UseCase.Mapping].compile(&writes[i])
	}
	if err := s.writer.do(ctx, j); err != nil {
		fail(err)
		return
	}
	for i, st := range j.statements {
		results[i] = proxy.Written{Done: st.rows > 0, Err: st.err}
	}
}

// learnIfOld makes a new plan if the present one cannot write one of the
// writes: the table may be back.
func (s *Source) learnIfOld(ctx context.Context, writes []proxy.Write) error {
	p := s.plan.Load()
	for i := range writes {
		m := writes[i].Key.UseCase.Mapping
		if r := p.of[m]; r.err != nil || r.schema != m.Schema() {
			return s.learn(ctx)
		}
	}
	return nil
}

// compile makes a write into SQL.
func (r *reading) compile(w *proxy.Write) statement {
	m := w.Key.UseCase.Mapping
	if m.ReadOnly {
		return statement{err: proxy.ErrReadOnly}
	}
	if r.err != nil {
		return statement{err: r.err}
	}
	args, err := bindKeyParts(w.Key)
	if err != nil {
		return statement{err: err}
	}
	if w.Op == proxy.Delete {
		return statement{query: "DELETE FROM " + Quote(m.Table) + " AS t WHERE " + r.where, args: args}
	}
	return r.upsert(m, w.Fields, args)
}

// upsert changes the row, and where there is none inserts one. An INSERT with
// ON CONFLICT alone would not do: it asks for a new row that could be, and
// columns that must be given or are unique refuse it, whatever row is there. It
// still takes care of a row that a trigger has kept from being changed.
func (r *reading) upsert(m *row.Mapping, fields []row.Field, args []any) statement {
	var columns, target, set []string
	for _, col := range m.Columns {
		columns = append(columns, Quote(col.Name))
		collate := ""
		if col.Kind == row.KeyText {
			collate = " COLLATE BINARY"
		}
		target = append(target, Quote(col.Name)+collate)
	}
	for _, f := range fields {
		col := r.table.Column(f.Name)
		if slices.ContainsFunc(m.Columns, func(k row.KeyColumn) bool { return k.Name == f.Name }) {
			return statement{err: &proxy.RejectedError{Reason: fmt.Sprintf("column %s is part of the key", f.Name)}}
		}
		if col == nil {
			return statement{err: &proxy.RejectedError{Reason: fmt.Sprintf("table %s has no column %s", m.Table, f.Name)}}
		}
		value, err := bindValue(col, f)
		if err != nil {
			return statement{err: err}
		}
		args = append(args, value)
		columns = append(columns, Quote(f.Name))
		set = append(set, Quote(f.Name)+" = ?"+strconv.Itoa(len(args)))
	}
	update := ""
	if len(set) > 0 {
		update = "UPDATE " + Quote(m.Table) + " AS t SET " + strings.Join(set, ", ") + " WHERE " + r.where
	}
	return statement{args: args, update: update, query: fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT (%s) DO NOTHING",
		Quote(m.Table), strings.Join(columns, ", "), strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", "),
		strings.Join(target, ", "))}
}
