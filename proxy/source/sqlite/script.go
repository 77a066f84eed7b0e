package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Script runs SQL as any other client of the file would, and creates the file
// if there is none. each gets the rows of the answer; it may be nil.
func Script(ctx context.Context, path, script string, each func([]row.Field) error) error {
	c, err := dial(ctx, path, 5*time.Second, "rwc")
	if err != nil {
		return err
	}
	defer c.Close()
	if each == nil {
		if _, err := c.conn.ExecContext(ctx, script); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	}
	rows, err := c.conn.QueryContext(ctx, script)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	return walk(rows, func(values []any) error {
		fields := make([]row.Field, len(columns))
		for i, v := range values {
			if t, ok := v.(time.Time); ok { // the driver's reading of a DATETIME column
				v = t.Format("2006-01-02 15:04:05.999999999")
			}
			fields[i] = Field(columns[i], v)
		}
		return each(fields)
	})
}
