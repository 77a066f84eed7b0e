package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

// snapshot sends commands that all read one snapshot, which is taken after
// the call. The session's own transactions are repeatable reads, and what is
// sent together is one transaction. Behind a pooler that has to be said, with
// the settings; write says that the transaction must be one that could write,
// which no standby has.
func (c *Conn) snapshot(ctx context.Context, write bool, commands ...*command) error {
	if !c.pooled {
		_, err := c.do(ctx, commands...)
		return err
	}
	begin := "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	if write {
		begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE"
	}
	all := append([]*command{{sql: begin}, {sql: setConfig(sessionSettings(c.opts), true)}}, commands...)
	_, err := c.do(ctx, append(all, &command{sql: "COMMIT"})...)
	return err
}

// rows makes a command's row function of one that looks at values only.
func rows(f func(values [][]byte) error) func([]pgconn.FieldDescription, [][]byte) error {
	return func(_ []pgconn.FieldDescription, values [][]byte) error { return f(values) }
}
