package load

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
)

// The times of a swing: the source is asked for longer than the row stays as it
// is, and the stream is late by about as much.
const (
	swingPause   = 100 * time.Millisecond // between two, on average
	swingWrites  = 14
	swingBetween = 70 * time.Millisecond
	swingReads   = 5  // of the source
	swingLooks   = 12 // into memory: for longer than the stream is late, also when all is slow
	swingTries   = 5  // to have it in memory first
)

// swing lets a session read a row that is written all the time: from memory,
// then from the source, and then from memory again, where the stream has kept
// an entry that may be older than what the source said. That must not be seen
// any more. Just before it asks the source somebody else does, and what he will
// be answered is not for one who asked later.
func (l *Load) swing(ctx context.Context, number int, node string, d *draw) (err error) {
	conn, err := l.db.Connect(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	s := &swing{l: l, id: hotHead + contestedRows + number, conn: conn, writes: l.history.Log()}
	for i := range s.readers {
		s.readers[i] = &sessionOf{l: l, node: node, log: l.history.Log(), d: d}
		defer s.readers[i].close()
	}
	for pause.For(ctx, d.around(swingPause)) {
		if err := s.once(ctx); err != nil {
			return err
		}
	}
	return nil
}

type swing struct {
	l       *Load
	id      int
	conn    table.Conn
	writes  *history.Log
	readers [2]*sessionOf // who swings, and somebody else
}

func (s *swing) once(ctx context.Context) error {
	for _, r := range s.readers {
		if r.c == nil && !r.open(ctx) {
			return nil
		}
	}
	if err := s.readers[0].keep(ctx, s.id); err != nil || s.readers[0].c == nil {
		return err
	}
	var g errgroup.Group
	g.Go(func() error { return s.write(ctx) })
	g.Go(func() error { return s.readers[0].memory(ctx, s.id) })
	g.Go(func() error { return s.readers[1].source(ctx, s.id) })
	return errors.Join(g.Wait(), s.writes.Flush(), s.readers[0].log.Flush(), s.readers[1].log.Flush())
}

func (s *swing) write(ctx context.Context) error {
	for range swingWrites {
		changes := []table.Change{{Op: table.Update, ID: s.id, Value: s.l.reserve(1)}}
		if err := s.l.transact(context.WithoutCancel(ctx), s.conn, s.writes, changes, "update", false); err != nil {
			return err
		}
		if !pause.For(ctx, swingBetween) {
			return nil
		}
	}
	return nil
}

// keep reads until memory answers, or some times at least: a fill that a change
// passes leaves no entry, so there has to be one before the row is written.
func (s *sessionOf) keep(ctx context.Context, id int) error {
	for range swingTries {
		from, err := s.ask(id, false)
		if err != nil || s.c == nil || from == history.FromHit || !pause.For(ctx, swingBetween/5) {
			return err
		}
	}
	return nil
}

// memory reads from the source, and again from memory.
func (s *sessionOf) memory(ctx context.Context, id int) error {
	for i := range 1 + swingLooks {
		if !pause.For(ctx, swingBetween/5) {
			return nil
		}
		if _, err := s.ask(id, i == 0); err != nil || s.c == nil {
			return err
		}
	}
	return nil
}

// source reads from the source.
func (s *sessionOf) source(ctx context.Context, id int) error {
	for range swingReads {
		if !pause.For(ctx, swingBetween) {
			return nil
		}
		if _, err := s.ask(id, true); err != nil || s.c == nil {
			return err
		}
	}
	return nil
}

// ask reads a row, and returns where the answer came from.
func (s *sessionOf) ask(id int, strong bool) (history.Origin, error) {
	r := s.l.read(&s.l.useCases[0], id, history.Plain)
	args := []string{"FRESHET.GET", r.Key, "PROOF"}
	if strong {
		r.Mode, r.Bound = history.Strong, 0
		args = append(args, "STRONG")
	}
	commands := []command{{args: args, reads: []read{r}, proof: true}}
	s.mark(commands[0].reads)
	whole, err := s.l.pipeline(s.c, s.log, s.node, commands)
	if !whole {
		s.close()
	}
	return commands[0].reads[0].Origin, err
}
