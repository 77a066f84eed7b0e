package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// maxStatements bounds the prepared statements a connection keeps: a handful
// per use case is usual, and a client cannot make it grow by the columns it
// names.
const maxStatements = 256

// Conn is one connection with [Settings] in force. Not for concurrent use.
//
// Between it and the server a pooler may stand, which gives each transaction
// another session. It is known by the process id it announces, which is not
// the session's. Then nothing is set or prepared in the session, which other
// clients will get: every transaction makes its own settings.
type Conn struct {
	pg       *pgconn.PgConn
	opts     Options
	pooled   bool
	prepared map[string]string // the names of statements, by their SQL
	used     time.Time         // when it was last put back
	epoch    uint64            // of its pool, when it was opened
}

// Dial opens a connection. The error names the mend.
func Dial(ctx context.Context, config *pgconn.Config, o Options) (*Conn, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	pg, err := connect(ctx, config)
	if err != nil {
		return nil, err
	}
	c := &Conn{pg: pg, opts: o, prepared: map[string]string{}, used: time.Now()}
	if err := c.settle(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("%w%s", err, mend(err))
	}
	return c, nil
}

// settle makes the settings if the session is this connection's own.
func (c *Conn) settle(ctx context.Context) error {
	const own = "pg_catalog.pg_backend_pid() = $1::int8"
	pid := strconv.FormatUint(uint64(c.pg.PID()), 10)
	encoding := ""
	r := c.pg.ExecParams(ctx, "SELECT pg_catalog.current_setting('server_encoding'), "+own+", CASE WHEN "+own+
		" THEN ("+setConfig(sessionSettings(c.opts), false)+") END", [][]byte{[]byte(pid)}, nil, nil, nil)
	for r.NextRow() {
		encoding, c.pooled = string(r.Values()[0]), string(r.Values()[1]) != "t"
	}
	if _, err := r.Close(); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return unfit("the database's encoding is %s, and keys are UTF-8: copy it into one made with ENCODING 'UTF8'", encoding)
	}
	return nil
}

// Close ends the connection.
func (c *Conn) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.pg.Close(ctx) // it is gone either way
}

// idle reports whether the connection can be used by another: it is open and
// in no transaction, whose old snapshot the next one would read.
func (c *Conn) idle() bool { return !c.pg.IsClosed() && c.pg.TxStatus() == 'I' }

// command is one statement with its arguments, and what to do with its rows.
type command struct {
	sql     string
	args    [][]byte // nil: NULL
	formats []int16  // of the arguments; nil: all text
	row     func(fields []pgconn.FieldDescription, values [][]byte) error
	changed int64 // how many rows it changed or returned, afterwards
}

// do sends commands together and reads their answers; without a transaction
// around them they are one. It returns how many were carried out, and -1 if
// none was sent.
func (c *Conn) do(ctx context.Context, commands ...*command) (done int, err error) {
	var b pgconn.Batch
	for _, cmd := range commands {
		if c.pooled {
			b.ExecParams(cmd.sql, cmd.args, nil, cmd.formats, nil)
			continue
		}
		name, err := c.prepare(ctx, cmd.sql)
		if err != nil {
			return -1, err
		}
		b.ExecPrepared(name, cmd.args, cmd.formats, nil)
	}
	results := c.pg.ExecBatch(ctx, &b)
	for done < len(commands) && results.NextResult() {
		if err := commands[done].read(results.ResultReader()); err != nil {
			results.Close()
			return done, err
		}
		done++
	}
	if err = results.Close(); pgconn.SafeToRetry(err) {
		done = -1
	}
	return done, err
}

func (cmd *command) read(r *pgconn.ResultReader) (err error) {
	for r.NextRow() {
		if cmd.row != nil && err == nil {
			err = cmd.row(r.FieldDescriptions(), r.Values())
		}
	}
	tag, failed := r.Close()
	cmd.changed = tag.RowsAffected()
	if failed != nil {
		return failed
	}
	return err
}

func (c *Conn) prepare(ctx context.Context, sql string) (string, error) {
	if name, ok := c.prepared[sql]; ok {
		return name, nil
	}
	if len(c.prepared) >= maxStatements {
		if err := c.forget(ctx); err != nil {
			return "", err
		}
	}
	name := "freshet" + strconv.Itoa(len(c.prepared))
	if _, err := c.pg.Prepare(ctx, name, sql, nil); err != nil {
		return "", err
	}
	c.prepared[sql] = name
	return name, nil
}

// forget gives up the prepared statements: a table they read has changed, or
// they are many.
func (c *Conn) forget(ctx context.Context) error {
	if c.pooled || len(c.prepared) == 0 {
		return nil
	}
	clear(c.prepared)
	return c.pg.Exec(ctx, "DEALLOCATE ALL").Close()
}

// Query carries out one statement with text arguments and gives each row to f,
// which may be nil. The values are texts, nil for NULL, and valid until f
// returns.
func (c *Conn) Query(ctx context.Context, f func(values [][]byte) error, sql string, args ...string) error {
	cmd := &command{sql: sql}
	for _, a := range args {
		cmd.args = append(cmd.args, []byte(a))
	}
	if f != nil {
		cmd.row = func(_ []pgconn.FieldDescription, values [][]byte) error { return f(values) }
	}
	_, err := c.do(ctx, cmd)
	return err
}
