package sqlite

import (
	"context"
	"fmt"
)

// LimitPages lets the writer's file grow no further than a few pages.
func (s *Source) LimitPages(ctx context.Context) error {
	var pages int64
	if err := s.writer.connect(ctx); err != nil {
		return err
	}
	if err := s.writer.conn.Row(ctx, []any{&pages}, "PRAGMA page_count"); err != nil {
		return err
	}
	return s.writer.conn.Row(ctx, []any{&pages}, fmt.Sprintf("PRAGMA max_page_count = %d", pages+8))
}
