package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// snapshot sends commands that all read one snapshot, which is taken after
// the call. The session's own transactions are repeatable reads, and what is
// sent together is one transaction. Behind a pooler that has to be said, with
// the settings; write says that the transaction must be one that could write,
// which no standby has. It
// returns how many commands were carried out.
func (c *Conn) snapshot(ctx context.Context, write bool, commands ...*command) (done int, err error) {
	if !c.pooled {
		return c.do(ctx, commands...)
	}
	begin := "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	if write {
		begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE"
	}
	before := c.opening(begin)
	done, err = c.do(ctx, append(append(before, commands...), &command{sql: "COMMIT"})...)
	return done - len(before), notPrimary(err, done)
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
