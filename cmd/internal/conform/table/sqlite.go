package table

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy/source/clock"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// SQLite is the table in a SQLite file.
type SQLite struct {
	Path string
}

// patience is how long a statement waits for another's lock.
const patience = 10 * time.Second

func (s *SQLite) dial(ctx context.Context) (*sqlite.Conn, error) {
	return sqlite.Dial(ctx, s.Path, patience)
}

// Create makes the table and its log.
func (s *SQLite) Create(ctx context.Context) (err error) {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return c.Update(ctx, func() error {
		var there int
		if err := c.Row(ctx, []any{&there}, "SELECT count(*) FROM sqlite_schema WHERE name IN (?, ?)", Rows, Log); err != nil {
			return err
		}
		if there > 0 {
			return fmt.Errorf("%s has a table %s or %s already: drop what an earlier run has left, or name another database", s.Path, Rows, Log)
		}
		return execAll(ctx, c, slices.Concat(sqliteTables, sqliteTriggers))
	})
}

// Drop removes the table and its log.
func (s *SQLite) Drop(ctx context.Context) (err error) {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return c.Update(ctx, func() error {
		return execAll(ctx, c, []string{"DROP TABLE IF EXISTS " + Rows, "DROP TABLE IF EXISTS " + Log})
	})
}

// Connect returns a connection of one writer's own.
func (s *SQLite) Connect(ctx context.Context) (Conn, error) {
	c, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &sqliteConn{c}, nil
}

func execAll(ctx context.Context, c *sqlite.Conn, statements []string) error {
	for _, s := range statements {
		if _, err := c.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", strings.SplitN(s, "\n", 2)[0], err)
		}
	}
	return nil
}

type sqliteConn struct{ c *sqlite.Conn }

func (s *sqliteConn) Close() error { return s.c.Close() }

// errUndo makes a transaction roll back.
var errUndo = errors.New("undo")

// Transact implements Conn. A file has one writer at a time, so what the log
// got from begin to end is this transaction's.
func (s *sqliteConn) Transact(ctx context.Context, changes []Change, undo bool) (Done, error) {
	var d Done
	reached := false // the end: nothing but the commit is left
	err := s.c.Update(ctx, func() error {
		var before uint64
		if err := s.c.Row(ctx, []any{&before}, "SELECT coalesce(max(seq), 0) FROM "+Log); err != nil {
			return err
		}
		for _, ch := range changes {
			if err := s.change(ctx, ch); err != nil {
				return fmt.Errorf("%v %d: %w", ch.Op, ch.ID, err)
			}
		}
		var err error
		if d.Logged, err = s.Since(ctx, before); err != nil {
			return err
		}
		if undo {
			return errUndo
		}
		reached, d.Begun = true, now()
		return nil
	})
	d.Acked = now()
	switch {
	case err == nil:
		d.Committed = true
	case errors.Is(err, errUndo):
		err = nil
	case reached:
		d.Unknown, err = true, nil
	}
	return d, err
}

// Since implements Conn.
func (s *sqliteConn) Since(ctx context.Context, seq uint64) ([]Logged, error) {
	var out []Logged
	err := s.c.Query(ctx, func(v []any) error {
		out = append(out, Logged{Seq: uint64(v[0].(int64)), ID: int(v[1].(int64)), Value: uint64(v[2].(int64))})
		return nil
	}, "SELECT seq, id, value FROM "+Log+" WHERE seq > ? ORDER BY seq", int64(seq))
	return out, err
}

// Find implements Conn.
func (s *sqliteConn) Find(ctx context.Context, id int, value uint64) (Logged, error) {
	l := Logged{ID: id, Value: value}
	err := s.c.Row(ctx, []any{&l.Seq}, "SELECT seq FROM "+Log+" WHERE value = ? AND value > 0 AND id = ?", int64(value), id)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotLogged
	}
	return l, err
}

func now() history.Time { return history.Time(clock.Boottime()) }
