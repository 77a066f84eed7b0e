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
	reading *reading
	key     []any // selects the row
	fields  []any // numbered behind key
	update  string
	insert  string // if there is no row
	remove  string
	when    proxy.Condition
	wantOld bool

	done bool
	old  row.Row
	err  error
}

// unit is the statements that are carried out together or not at all.
type unit []statement

// fail gives each statement the error that undid them all.
func (u unit) fail(err error) {
	for i := range u {
		u[i].done, u[i].old, u[i].err = false, row.Row{}, err
	}
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
	j := &job{units: s.compile(writes), done: make(chan struct{})}
	if err := s.writer.do(ctx, j); err != nil {
		fail(err)
		return
	}
	i := 0
	for _, u := range j.units {
		for _, st := range u {
			results[i] = proxy.Written{Done: st.done, Old: st.old, Err: st.err}
			i++
		}
	}
}

// compile makes writes into units. One that cannot be carried out at all keeps
// its whole unit from the writer.
func (s *Source) compile(writes []proxy.Write) []unit {
	p := s.plan.Load()
	statements := make([]statement, len(writes))
	var units []unit
	for first := 0; first < len(writes); {
		end := first + 1
		for end < len(writes) && writes[end].Joined {
			end++
		}
		u := unit(statements[first:end:end])
		for i := range u {
			w := &writes[first+i]
			if u[i] = p.of[w.Key.UseCase.Mapping].compile(w); u[i].err != nil {
				u.fail(u[i].err)
				break
			}
		}
		units, first = append(units, u), end
	}
	return units
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
	key, err := bindKeyParts(w.Key)
	if err != nil {
		return statement{err: err}
	}
	st := statement{reading: r, key: key, when: w.If, wantOld: w.Old}
	if w.Op == proxy.Delete {
		st.remove = "DELETE FROM " + Quote(m.Table) + " AS t WHERE " + r.where
		return st
	}
	st.err = r.upsert(&st, m, w.Fields)
	return st
}

// upsert changes the row, and where there is none inserts one. An INSERT with
// ON CONFLICT alone would not do: it asks for a new row that could be, and
// columns that must be given or are unique refuse it, whatever row is there. It
// still takes care of a row that a trigger has kept from being changed.
func (r *reading) upsert(st *statement, m *row.Mapping, fields []row.Field) error {
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
			return &proxy.RejectedError{Reason: fmt.Sprintf("column %s is part of the key", f.Name)}
		}
		if col == nil {
			return &proxy.RejectedError{Reason: fmt.Sprintf("table %s has no column %s", m.Table, f.Name)}
		}
		value, err := bindValue(col, f)
		if err != nil {
			return err
		}
		st.fields = append(st.fields, value)
		columns = append(columns, Quote(f.Name))
		set = append(set, Quote(f.Name)+" = ?"+strconv.Itoa(len(st.key)+len(st.fields)))
	}
	if len(set) > 0 {
		st.update = "UPDATE " + Quote(m.Table) + " AS t SET " + strings.Join(set, ", ") + " WHERE " + r.where
	}
	st.insert = fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT (%s) DO NOTHING",
		Quote(m.Table), strings.Join(columns, ", "), strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", "),
		strings.Join(target, ", "))
	return nil
}
