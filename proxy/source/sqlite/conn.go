package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	_ "modernc.org/sqlite" // registers the driver
)

// maxStatements bounds the prepared statements a connection keeps: a handful
// per use case is usual, and a client cannot make it grow by the columns it
// names.
const maxStatements = 256

// Conn is one connection to a file, with the statements it has prepared. Not
// for concurrent use.
type Conn struct {
	path  string
	busy  time.Duration // how long a statement waits for a lock
	info  os.FileInfo   // of the file it was opened on
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// Dial opens an existing file, as it is. busy is how long a statement waits for
// a lock.
func Dial(ctx context.Context, path string, busy time.Duration) (*Conn, error) {
	return dial(ctx, path, busy, "rw")
}

func dial(ctx context.Context, path string, busy time.Duration, mode string) (*Conn, error) {
	pragmas := url.Values{
		"mode":    {mode}, // rw: a misspelled path is an error, not a new and empty database
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds())},
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+pragmas.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	c := &Conn{path: path, busy: busy, db: db, stmts: map[string]*sql.Stmt{}}
	if err := c.attach(ctx, mode); err != nil {
		db.Close()
		return nil, fmt.Errorf("open %s: %w%s", path, err, mend(err))
	}
	return c, nil
}

// mend says what lets a file be opened that could not be.
func mend(err error) string {
	switch code := Code(err); {
	case errors.Is(err, fs.ErrNotExist):
		return ": create the database, or correct its path"
	case code == codeReadOnly, code == codeCantOpen, errors.Is(err, fs.ErrPermission):
		return ": name a database file that this user may read and write, in a folder of which that is true too"
	case code == codeNotADB:
		return ": name a SQLite database"
	}
	return ""
}

func (c *Conn) attach(ctx context.Context, mode string) (err error) {
	if c.info, err = os.Stat(c.path); err != nil && mode != "rwc" {
		return errors.Unwrap(err) // the path stands in front of it already
	}
	if c.conn, err = c.db.Conn(ctx); err != nil {
		return err
	}
	var encoding string
	if err := c.conn.QueryRowContext(ctx, "PRAGMA encoding").Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF-8" {
		return fmt.Errorf("the database's encoding is %s, and keys are UTF-8: copy it into one made with PRAGMA encoding = 'UTF-8'", encoding)
	}
	return nil
}

// WAL puts the file into WAL mode, in which readers and a writer do not wait
// for each other, and in which it stays. Where someone else writes meanwhile
// SQLite does not wait, but refuses: then it is tried again, for as long as a
// statement waits for a lock.
func (c *Conn) WAL(ctx context.Context) error {
	patience, cancel := context.WithTimeout(ctx, c.busy)
	defer cancel()
	again := time.NewTicker(walPause)
	defer again.Stop()
	for {
		_, err := c.conn.ExecContext(ctx, "PRAGMA journal_mode = wal")
		if Code(err) != codeBusy {
			return err
		}
		select {
		case <-patience.Done():
			return err
		case <-again.C:
		}
	}
}

// walPause is how long WAL waits before it tries again.
const walPause = 5 * time.Millisecond

// Close ends the connection.
func (c *Conn) Close() error {
	for _, s := range c.stmts {
		s.Close()
	}
	c.conn.Close()
	return c.db.Close()
}

// Current reports whether the path still names the file that was opened: a
// backup may be moved over it, and what the old file says is then history.
func (c *Conn) Current() bool {
	now, err := os.Stat(c.path)
	return err == nil && os.SameFile(now, c.info)
}

// File names the file that was opened, so that a copy has another name.
func (c *Conn) File() string { return fileName(c.info) }

func (c *Conn) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	if len(c.stmts) >= maxStatements {
		c.forgetStatements()
	}
	s, err := c.conn.PrepareContext(ctx, query)
	if err == nil {
		c.stmts[query] = s
	}
	return s, err
}

func (c *Conn) forgetStatements() {
	for _, s := range c.stmts {
		s.Close()
	}
	clear(c.stmts)
}

// Exec carries out one statement and returns how many rows it changed.
func (c *Conn) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	s, err := c.prepare(ctx, query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Query gives each row of a statement's answer to f. The values are int64,
// float64, string, []byte or nil, and belong to f.
func (c *Conn) Query(ctx context.Context, f func(values []any) error, query string, args ...any) (err error) {
	s, err := c.prepare(ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return walk(rows, f)
}

func walk(rows *sql.Rows, f func(values []any) error) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	into := make([]any, len(columns))
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := f(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Row scans the one row of a statement's answer; sql.ErrNoRows if there is
// none.
func (c *Conn) Row(ctx context.Context, into []any, query string, args ...any) error {
	s, err := c.prepare(ctx, query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(ctx, args...).Scan(into...)
}

const (
	beginRead  = "BEGIN"
	beginWrite = "BEGIN IMMEDIATE"
)

// Snapshot runs f in a read transaction: everything f reads is of one
// moment, which lies between the call and f's first read.
func (c *Conn) Snapshot(ctx context.Context, f func() error) error {
	return c.transaction(ctx, beginRead, f)
}

// Update runs f in a write transaction, which is committed if f returns nil.
func (c *Conn) Update(ctx context.Context, f func() error) error {
	return c.transaction(ctx, beginWrite, f)
}

func (c *Conn) transaction(ctx context.Context, begin string, f func() error) error {
	if begin == beginRead { // which waits for nobody: the first read does
		ctx = context.WithoutCancel(ctx)
	}
	if _, err := c.Exec(ctx, begin); err != nil {
		return err
	}
	err := f()
	if err == nil {
		if _, err = c.Exec(ctx, "COMMIT"); err == nil {
			return nil
		}
	}
	c.rollback(ctx)
	return err
}

// rollback ends a transaction whatever became of ctx. Some errors have ended
// it already, and then this one says nothing new.
func (c *Conn) rollback(ctx context.Context) {
	_, _ = c.Exec(context.WithoutCancel(ctx), "ROLLBACK")
}

// Quote returns a name as SQL spells it.
func Quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Literal returns a text as SQL spells it.
func Literal(text string) string {
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
