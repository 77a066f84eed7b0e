package load

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
)

// The times of an echo, which are of a stream that is some hundred milliseconds
// late.
const (
	echoes    = 2                      // for each node
	echoPause = 50 * time.Millisecond  // between two of them, on average
	echoApart = 150 * time.Millisecond // the second write comes so much after the first, at most
	echoBound = 2 * time.Second        // of its reads: the stream may be later than the use case allows
	echoLooks = 12                     // times that it reads, echoPause apart
	echoRows  = 3                      // of each kind
)

// echo writes rows in the database and soon after that through a node, and then
// reads them there without a session. The stream has yet to bring the first
// write when the second has its reply, and must not bring it back over that:
// neither into an entry that was made since, nor where there is none.
func (l *Load) echo(ctx context.Context, node string, d *draw) (err error) {
	conn, err := l.db.Connect(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	s := &sessionOf{l: l, node: node, conn: conn, log: l.history.Log(), d: d}
	defer s.close()
	for pause.For(ctx, d.around(echoPause)) {
		if s.c == nil {
			s.c = l.dial(ctx, node)
		}
		if s.c == nil {
			continue
		}
		if err := errors.Join(s.echo(ctx), s.log.Flush()); err != nil {
			return err
		}
	}
	return nil
}

// echo makes one. Half of its rows are read as soon as they are written, the
// other half not before the stream can have come by.
func (s *sessionOf) echo(ctx context.Context) error {
	whole := context.WithoutCancel(ctx)
	first := hotHead + contestedRows + s.d.IntN(s.d.n-hotHead-contestedRows-2*echoRows)
	var changes []table.Change
	for i := range 2 * echoRows {
		changes = append(changes, table.Change{Op: table.Update, ID: first + i, Value: s.l.reserve(1)})
	}
	if err := s.l.transact(whole, s.conn, s.log, changes, "update", false); err != nil {
		return err
	}
	if !pause.For(ctx, time.Duration(s.d.Int64N(int64(echoApart)))) {
		return nil
	}
	for _, c := range changes {
		if s.c == nil {
			return nil
		}
		if err := s.put(whole, c.ID); err != nil {
			return err
		}
	}
	for i := 0; i < echoLooks && s.c != nil; i++ {
		looked := changes
		if i < echoLooks/2 {
			looked = changes[:echoRows]
		}
		if err := s.look(looked); err != nil {
			return err
		}
		if !pause.For(ctx, echoPause) {
			return nil
		}
	}
	return nil
}

// look reads rows with their proofs.
func (s *sessionOf) look(changes []table.Change) error {
	u := s.l.writable()
	var commands []command
	for _, c := range changes {
		r := s.l.read(u, c.ID, history.MaxStale)
		r.Bound = echoBound
		args := []string{"FRESHET.GET", r.Key, "PROOF", "MAXSTALE", strconv.FormatInt(echoBound.Milliseconds(), 10)}
		commands = append(commands, command{args: args, reads: []read{r}, proof: true})
	}
	whole, err := s.l.pipeline(s.c, s.log, s.node, commands)
	if !whole {
		s.close()
	}
	return err
}
