package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Two ways to read, by what a snapshot is older than. PostgreSQL takes that of
// a repeatable read before it waits for a table that somebody alters: what the
// read then finds is rows of before with the columns of now, or, where the
// table was written anew, no rows. So what is read is locked first.

// statement sends one statement, in a transaction of its own: its snapshot is
// taken after the call, and when it has its locks. write says that the
// transaction must be one that could write, which no standby has.
func (c *Conn) statement(ctx context.Context, write bool, one *command) error {
	if !c.pooled {
		_, err := c.do(ctx, one)
		return err
	}
	return c.within(ctx, committed, write, nil, one)
}

// snapshot sends commands that all read one snapshot, which is taken after the
// call, and when tables are locked that they read (names as SQL has them).
func (c *Conn) snapshot(ctx context.Context, write bool, tables []string, commands ...*command) error {
	return c.within(ctx, repeatable, write, tables, commands...)
}

// within sends commands as a transaction. Nothing but locks may come before
// what takes the snapshot, and making settings does.
func (c *Conn) within(ctx context.Context, isolation string, write bool, tables []string, commands ...*command) error {
	mode := " READ ONLY"
	if write {
		mode = " READ WRITE"
	}
	opening := c.opening("BEGIN ISOLATION LEVEL " + strings.ToUpper(isolation) + mode)
	all := make([]*command, 0, len(opening)+len(tables)+len(commands)+1)
	all = append(all, opening[0])
	for _, t := range tables {
		all = append(all, &command{sql: "LOCK TABLE " + t + " IN ACCESS SHARE MODE"})
	}
	all = append(append(all, opening[1:]...), commands...)
	done, err := c.do(ctx, append(all, &command{sql: "COMMIT"})...)
	return notPrimary(err, done)
}

// opening begins a transaction, and makes its settings where the session's are
// not this connection's own.
func (c *Conn) opening(begin string) []*command {
	if c.pooled {
		return []*command{{sql: begin}, {sql: setConfig(sessionSettings(c.opts), true)}}
	}
	return []*command{{sql: begin}}
}

// notPrimary tells the refusal of the first command, which begins a
// transaction that writes: only a standby does that.
func notPrimary(err error, done int) error {
	var pg *pgconn.PgError
	if done == 0 && errors.As(err, &pg) && pg.Code == "0A000" {
		return errStandby
	}
	return err
}

// rows makes a command's row function of one that looks at values only.
func rows(f func(values [][]byte) error) func([]pgconn.FieldDescription, [][]byte) error {
	return func(_ []pgconn.FieldDescription, values [][]byte) error { return f(values) }
}
