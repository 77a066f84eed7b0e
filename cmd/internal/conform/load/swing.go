package load

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
)

// The times of a swing: the source is asked for longer than the row stays as it
// is, and the stream is late by about as much.
const (
	swingPause   = 100 * time.Millisecond // between two, on average
	swingWrites  = 14
	swingBetween = 70 * time.Millisecond
	swingReads   = 5
)

// swing lets a session read a row that is written all the time, from memory,
// then from the source, and then from memory again, where the stream has kept
// an entry that may be older than what the source said: that must not be seen
// any more.
func (l *Load) swing(ctx context.Context, number int, node string, d *draw) (err error) {
	conn, err := l.db.Connect(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	s := &sessionOf{l: l, node: node, conn: conn, log: l.history.Log(), d: d}
	defer s.close()
	writes := l.history.Log()
	id := hotHead + contestedRows + number
	for pause(ctx, d.around(swingPause)) {
		if s.c == nil && !s.open(ctx) {
			continue
		}
		g, whole := errgroup.WithContext(context.WithoutCancel(ctx))
		g.Go(func() error {
			for range swingWrites {
				changes := []table.Change{{Op: table.Update, ID: id, Value: l.reserve(1)}}
				if err := l.transact(whole, conn, writes, changes, "update", false); err != nil || !pause(ctx, swingBetween) {
					return err
				}
			}
			return nil
		})
		g.Go(func() error { return s.swing(ctx, id) })
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return errors.Join(s.log.Flush(), writes.Flush())
}

func (s *sessionOf) swing(ctx context.Context, id int) error {
	u := &s.l.useCases[0]
	for i := range 2 + swingReads {
		r := s.l.read(u, id, history.Plain)
		args := []string{"FRESHET.GET", r.Key, "PROOF"}
		if i == 1 {
			r.Mode, r.Bound = history.Strong, 0
			args = append(args, "STRONG")
		}
		commands := []command{{args: args, reads: []read{r}, proof: true}}
		s.mark(commands[0].reads)
		whole, err := s.l.pipeline(s.c, s.log, s.node, commands)
		if !whole {
			s.close()
		}
		if err != nil || !whole || i > 1 && !pause(ctx, swingBetween/5) {
			return err
		}
	}
	return nil
}
