package table

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/clock"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// Setup returns what makes the table, for who maps it before a run.
func (s *SQLite) Setup() []string { return []string{sqliteRows} }

// Undo returns what Leave does.
func (s *SQLite) Undo(there bool) []string {
	if !there {
		return []string{"DROP TABLE IF EXISTS " + Rows, "DROP TABLE IF EXISTS " + Log}
	}
	return []string{
		"DROP TRIGGER IF EXISTS " + Log + "_i", "DROP TRIGGER IF EXISTS " + Log + "_u", "DROP TRIGGER IF EXISTS " + Log + "_d",
		"DELETE FROM " + Rows,
		"DROP TABLE IF EXISTS " + Log,
	}
}

const sqliteColumns = "id integer, alias text, grp integer, val text"

// Look reports whether the table is there, as it has to be and empty. It
// returns an error for what a run must not touch.
func (s *SQLite) Look(ctx context.Context) (there bool, err error) {
	err = s.once(ctx, func(c *sqlite.Conn) error {
		return c.Snapshot(ctx, func() error {
			if there, err = s.vacant(ctx, c); err != nil || !there {
				return err
			}
			return s.empty(ctx, c)
		})
	})
	return there, err
}

// vacant reports whether the table is there, and returns an error if another
// run is.
func (s *SQLite) vacant(ctx context.Context, c *sqlite.Conn) (there bool, err error) {
	var log bool
	const question = "SELECT coalesce(max(name = ?), 0), coalesce(max(name = ?), 0) FROM sqlite_schema"
	if err := c.Row(ctx, []any{&there, &log}, question, Rows, Log); err != nil {
		return false, err
	}
	if log {
		return there, errLeft(s.Undo(true))
	}
	return there, nil
}

func (s *SQLite) empty(ctx context.Context, c *sqlite.Conn) error {
	var columns string
	const question = "SELECT group_concat(name || ' ' || lower(type), ', ' ORDER BY cid) FROM pragma_table_info('" + Rows + "')"
	if err := c.Row(ctx, []any{&columns}, question); err != nil {
		return err
	}
	if columns != sqliteColumns {
		return errColumns(columns, sqliteColumns)
	}
	var rows bool
	err := c.Row(ctx, []any{&rows}, "SELECT EXISTS (SELECT 1 FROM "+Rows+")")
	if err == nil && rows {
		err = errNotEmpty()
	}
	return err
}

// Enter makes the log, and the table if it is not there. Whoever gets another
// error than ErrUnknown has nothing to undo.
func (s *SQLite) Enter(ctx context.Context, there bool) error {
	statements := slices.Concat(sqliteTables, sqliteTriggers)
	if there {
		statements = slices.Concat(sqliteLog, sqliteTriggers)
	}
	return s.once(ctx, func(c *sqlite.Conn) error {
		return c.Update(ctx, func() error {
			if _, err := s.vacant(ctx, c); err != nil { // two may have looked before either entered
				return err
			}
			return execAll(ctx, c, statements)
		})
	})
}

// Clear removes all rows, and what the log has.
func (s *SQLite) Clear(ctx context.Context) error {
	return s.change(ctx, []string{"DELETE FROM " + Rows, "DELETE FROM " + Log})
}

// Leave undoes what Enter, and all since then, has done.
func (s *SQLite) Leave(ctx context.Context, there bool) error { return s.change(ctx, s.Undo(there)) }

// change carries out statements, or none of them.
func (s *SQLite) change(ctx context.Context, statements []string) error {
	return s.once(ctx, func(c *sqlite.Conn) error {
		return c.Update(ctx, func() error { return execAll(ctx, c, statements) })
	})
}

// once does something on a connection of its own.
func (s *SQLite) once(ctx context.Context, do func(*sqlite.Conn) error) (err error) {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return do(c)
}

// Clock reads the clock of the file's host, which has to be this one.
func (s *SQLite) Clock(context.Context, Conn) (history.Clock, error) {
	before := clock.Boottime()
	t := proxy.Time(time.Now().UnixNano())
	after := clock.Boottime()
	return history.Clock{At: history.Time(after), Lo: t, Hi: t.Add(after - before)}, nil
}
