package node

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// SQL carries out one statement on a database file as any client would, and
// prints the rows it gives, or how many it changed.
func SQL(ctx context.Context, path, statement string, w io.Writer) (err error) {
	db, err := openSQL(path, "rw")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer conn.Close()
	before, err := count(ctx, conn, "total_changes()")
	if err != nil {
		return err
	}
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	columns, err := printRows(rows, w)
	if err != nil || columns > 0 {
		return err
	}
	after, err := count(ctx, conn, "total_changes()")
	if err != nil {
		return err
	}
	changed := int64(0)
	if after > before { // else changes() tells of an earlier statement
		// Not after − before: that counts what triggers wrote too.
		if changed, err = count(ctx, conn, "changes()"); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "%d rows changed\n", changed)
	return err
}

func count(ctx context.Context, conn *sql.Conn, what string) (n int64, err error) {
	err = conn.QueryRowContext(ctx, "SELECT "+what).Scan(&n)
	return n, err
}

// openSQL opens a file the way any SQLite client does. mode is rw, or rwc to
// make the file too.
func openSQL(path, mode string) (*sql.DB, error) {
	query := url.Values{"mode": {mode}, "_pragma": {"busy_timeout(5000)"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+query.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

// printRows prints a line of column names and one line per row, with tabs, and
// returns how many columns there are.
func printRows(rows *sql.Rows, w io.Writer) (columns int, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	if len(names) > 0 {
		if _, err := fmt.Fprintln(w, strings.Join(names, "\t")); err != nil {
			return 0, err
		}
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return 0, err
		}
		cells := make([]string, len(values))
		for i, v := range values {
			cells[i] = cell(v)
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return 0, err
		}
	}
	return len(names), rows.Err()
}

func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}
