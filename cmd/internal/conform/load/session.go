package load

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/freshet-cache/freshet/cmd/internal/conform/client"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/proxy"
)

// sessionClient reads and writes through one node, in one session as long as
// the connection lasts. The rows that it deletes are its alone to delete this
// way, so that the log's absences can be told apart.
func (l *Load) sessionClient(ctx context.Context, number int, node string, d *draw) (err error) {
	conn, err := l.db.Connect(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	s := &sessionOf{l: l, node: node, number: number, conn: conn, log: l.history.Log(), d: d}
	d.cool = true
	defer s.close()
	for pause.For(ctx, d.around(l.opts.ReadPause)) {
		if s.c == nil && !s.open(ctx) {
			continue
		}
		if err := s.step(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return s.log.Flush()
}

type sessionOf struct {
	l      *Load
	node   string
	number int
	conn   table.Conn
	log    *history.Log
	d      *draw

	c       *client.Client // nil: none
	session uint64         // 0: the node has none to offer
	last    []command      // what was read
}

// open begins another session.
func (s *sessionOf) open(ctx context.Context) bool {
	if s.c = s.l.dial(ctx, s.node); s.c == nil {
		return false
	}
	_, err := s.c.Do("FRESHET.SESSION", "ON")
	var refused client.Refusal
	switch {
	case err == nil:
		s.session = s.l.sessions.Add(1)
	case errors.As(err, &refused):
		s.session = 0
	default:
		s.close()
		return false
	}
	return true
}

func (s *sessionOf) close() {
	if s.c != nil {
		s.c.Close()
		s.c = nil
	}
}

func (s *sessionOf) step(ctx context.Context) error {
	switch n := s.d.IntN(40); {
	case n < 3:
		return s.put(ctx, s.d.cold())
	case n == 3:
		return s.remove()
	case n == 4 && s.d.IntN(50) == 0:
		s.close()
		return nil
	}
	if s.d.IntN(2) == 0 { // else again what was read last: that must not go back
		s.last = s.l.draw(s.d)
	}
	commands := slices.Clone(s.last)
	for i := range commands {
		commands[i].reads = slices.Clone(commands[i].reads)
		s.mark(commands[i].reads)
	}
	whole, err := s.l.pipeline(s.c, s.log, s.node, commands)
	if !whole {
		s.close()
	}
	return err
}

// mark makes reads be of the session.
func (s *sessionOf) mark(reads []read) {
	if s.session == 0 {
		return
	}
	for i := range reads {
		r := &reads[i]
		r.Session = s.session
		if r.Mode == history.Plain || r.Mode == history.Many {
			r.Mode = history.Session
		}
	}
}

// writable is the use case that is written through.
func (l *Load) writable() *UseCase {
	for i := range l.useCases {
		if l.useCases[i].Writable {
			return &l.useCases[i]
		}
	}
	return nil
}

// put writes one value through the node. What it means for the session's own
// order is looked up at once.
func (s *sessionOf) put(ctx context.Context, id int) error {
	u := s.l.writable()
	if u == nil {
		return nil
	}
	value := s.l.reserve(1)
	p := s.send(id, []string{"SET", u.Key(id), table.Text(id, value)}, "set")
	p.write.Value = value
	if p.lost {
		s.l.postpone(p)
		return nil
	}
	logged, err := s.conn.Find(ctx, id, value)
	switch {
	case errors.Is(err, table.ErrNotLogged):
		p.write.Outcome = history.RolledBack
		logged = table.Logged{ID: id, Value: value}
	case err != nil:
		return err
	}
	return s.l.record(s.log, logged, p.write)
}

// remove deletes a row through the node.
func (s *sessionOf) remove() error {
	u, id := s.l.writable(), s.d.row()
	clients := len(s.l.tier.Nodes()) * s.l.opts.Sessions
	id += s.number - id%clients
	if u == nil {
		return nil
	}
	p := s.send(id, []string{"DEL", u.Key(id)}, "del")
	p.write.Session = 0 // nobody knows yet which version it is
	if p.void {
		return nil
	}
	s.l.postpone(p)
	return nil
}

// send sends a write and asks for its token.
func (s *sessionOf) send(id int, args []string, op string) pendingWrite {
	p := pendingWrite{id: id, op: op}
	p.write = history.Write{Op: op, Node: s.node, Session: s.session, Begun: now()}
	r, err := s.c.Do(args...)
	p.write.Acked = now()
	var refused client.Refusal
	switch {
	case err == nil:
		p.void = r.Text == "0"
	case errors.As(err, &refused) && !strings.HasPrefix(string(refused), "UNKNOWN"):
		p.void = true
		return p
	default:
		p.lost = true
		s.close()
		return p
	}
	token, err := s.c.Do("FRESHET.TOKEN")
	if err != nil {
		s.close()
		return p
	}
	// A node that does not know the source's clock gives a token that no read
	// meets but by a fill: it is of no moment.
	if t := timeOf(&token); t != proxy.Forever {
		p.write.Token = t
	}
	if p.write.Token != 0 && !p.void {
		s.l.tokens.last.Store(&written{id: id, token: p.write.Token})
	}
	return p
}
