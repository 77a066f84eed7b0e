package sqlite

import (
	"context"
	"fmt"
	"time"
)

// Script runs SQL as any other client of a file in WAL mode would, and creates
// the file if there is none: for tests, here and of the outbox.
func Script(ctx context.Context, path, script string) error {
	c, err := dial(ctx, path, 5*time.Second, "rwc")
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.WAL(ctx); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := c.conn.ExecContext(ctx, script); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
