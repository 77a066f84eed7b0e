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
	echoApart = 300 * time.Millisecond // the second write comes so much after the first, at most
	echoBound = 2 * time.Second        // of its reads: the stream may be later than the use case allows
	echoLooks = 16                     // times that it reads, echoPause apart
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

// echo makes one.
func (s *sessionOf) echo(ctx context.Context) error {
	whole := context.WithoutCancel(ctx)
	rows := s.echoed()
	var last []table.Change
	for _, r := range rows[echoRows:] {
		last = append(last, table.Change{Op: table.Delete, ID: r.ID, Value: s.l.reserve(1)})
	}
	if err := s.l.transact(whole, s.conn, s.log, rows, "update", false); err != nil {
		return err
	}
	if pause.For(ctx, time.Duration(s.d.Int64N(int64(echoApart)))) {
		if err := s.answer(ctx, rows); err != nil {
			return err
		}
	}
	return s.l.transact(whole, s.conn, s.log, last, "delete", false)
}

// echoed draws the first writes: echoRows of rows that are there, and as many of
// rows that nobody has read yet.
func (s *sessionOf) echoed() (rows []table.Change) {
	id := hotHead + contestedRows + s.d.IntN(s.d.n-hotHead-contestedRows-echoRows)
	for i := range echoRows {
		rows = append(rows, table.Change{Op: table.Update, ID: id + i, Value: s.l.reserve(1)})
	}
	for range echoRows {
		rows = append(rows, table.Change{Op: table.Put, ID: s.l.keys.unread(s.l.unread.Add(1)), Value: s.l.reserve(1)})
	}
	return rows
}

// answer makes the second writes, and looks at what has become of them. What the
// stream brings of a row that nobody has read can only be seen by who is the first
// to read it at the right time, so each of these has a first look of its own.
func (s *sessionOf) answer(ctx context.Context, rows []table.Change) error {
	for i := range rows {
		if s.c == nil {
			return nil
		}
		if err := s.put(context.WithoutCancel(ctx), rows[i].ID); err != nil {
			return err
		}
	}
	from := make([]int, len(rows)) // the look that is the first to read it
	for i := echoRows; i < len(rows); i++ {
		from[i] = s.d.IntN(echoLooks)
	}
	for i := 0; i < echoLooks && s.c != nil; i++ {
		if err := s.look(rows, from, i); err != nil {
			return err
		}
		if !pause.For(ctx, echoPause) {
			return nil
		}
	}
	return nil
}

// look reads the rows whose time has come, with their proofs.
func (s *sessionOf) look(rows []table.Change, from []int, at int) error {
	u := s.l.writable()
	var commands []command
	for i := range rows {
		if from[i] > at {
			continue
		}
		r := s.l.read(u, rows[i].ID, history.MaxStale)
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
