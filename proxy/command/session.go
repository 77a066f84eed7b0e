package command

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/resp"
)

// Next says what a Session's carrier must do after a Step.
type Next uint8

// What comes next. In all but Drop the replies are written first.
const (
	Read  Next = iota // append more bytes to what is left of in, and step again
	Again             // step again with the rest of in as it is: Replies was full
	Close             // close the connection
	Drop              // close the connection, and write nothing
)

// Session is the logic of one connection.
type Session struct {
	all    *Commands
	calls  *[]atomic.Uint64 // this session's counters
	parser *resp.Parser
	w      resp.Writer
	next   Next // Close or Drop once a command has ended the connection

	id   int64
	name []byte

	rights *proxy.Rights // of the user; nil: they have not said who they are
	need   proxy.Right   // what the command at hand needs of each of its keys
	behalf behalf

	multiState
	guarantees
	quiet
	redirects

	user            string
	libName, libVer string   // of the client
	latest          *command // that was called

	carrier Carrier // nil: none was attached
	began   time.Time
	shown   atomic.Pointer[profile]
	called  atomic.Pointer[command] // the latest of the last Step

	pending gathered
	batch   int // keys to gather at most, now: see adapt
}

// NewSession returns the logic of a new connection.
func (c *Commands) NewSession() *Session {
	id := c.lastID.Add(1)
	s := &Session{
		all: c, id: id, user: defaultUser,
		calls:  &c.shards[int(id)%len(c.shards)].n,
		parser: resp.NewParser(c.opts.Limits),
		batch:  min(firstBatch, c.opts.BatchKeys),
	}
	s.enter(c.first)
	return s
}

// Replies returns what the last Step appended. It is valid until the next one.
func (s *Session) Replies() []byte { return s.w.Out }

// Stranger reports whether the client still has to say who it is.
func (s *Session) Stranger() bool { return s.rights == nil }

// Step runs the requests at the front of in, in order, until there is no
// complete one left or Replies is full, and returns how many bytes of in are
// done with. Until a Step returns Read, in must stay where it is in memory:
// requests that are not answered yet lie there.
//
// ctx ends the wait for the source, and with it the connection: of the requests
// behind, no write is carried out.
func (s *Session) Step(ctx context.Context, in []byte) (n int, next Next) {
	n, next = s.step(ctx, in)
	s.topology = nil // an idle connection holds no old one
	if s.latest != s.called.Load() {
		s.called.Store(s.latest)
	}
	return n, next
}

func (s *Session) step(ctx context.Context, in []byte) (n int, next Next) {
	s.recycle()
	s.look()
	if !s.answer() { // what the last Step left over
		return 0, Again
	}
	for {
		args, size, err := s.parser.Next(in[n:])
		if err == nil && args == nil {
			n += size
			if !s.settle(ctx) {
				return n, Again
			}
			return n, Read
		}
		cmd := s.find(args)
		if cmd == nil || !s.joins(cmd) {
			if !s.settle(ctx) {
				return n, Again // this request is parsed once more, then
			}
			if ctx.Err() != nil {
				return n, Drop
			}
		}
		s.quiet.begin()
		s.redirects.begin(n == 0 && size == len(in))
		start := len(s.w.Out)
		if err != nil {
			s.w.Error("ERR " + err.Error())
			s.next = Close
		} else {
			n += size
			s.count(args[0], cmd)
			s.run(cmd, args)
		}
		if s.silent() {
			s.w.Out = s.w.Out[:start]
		}
		if s.next != Read {
			return n, s.next
		}
		if s.full() && !s.settle(ctx) || len(s.w.Out) >= s.all.opts.FlushBytes {
			return n, Again
		}
	}
}

// recycle empties Replies, and gives back the room of unusually large ones.
func (s *Session) recycle() {
	if cap(s.w.Out) > 4*s.all.opts.FlushBytes {
		s.w.Out = nil
	}
	s.w.Out = s.w.Out[:0]
}

// find returns the command that args call, or nil if they do not call one
// as it wants to be called.
func (s *Session) find(args [][]byte) *command {
	if len(args) == 0 {
		return nil
	}
	cmd := s.all.lookup(args[0])
	if cmd != nil && cmd.subs != nil && len(args) > 1 {
		cmd = cmd.sub(args[1])
	}
	if cmd == nil || cmd.run == nil || !cmd.fits(len(args)) || !s.permits(cmd) || s.open && !cmd.endsMulti() {
		return nil
	}
	return cmd
}

// run runs a command, or says why there is none.
func (s *Session) run(cmd *command, args [][]byte) {
	if cmd != nil {
		s.need, s.latest = cmd.right.needs(), cmd
		if moved := s.moved(cmd, args); moved != nil {
			s.turnAway(cmd, moved)
			return
		}
		cmd.run(s, args)
		if cmd.kind == alone {
			s.show()
		}
		return
	}
	top := s.all.lookup(args[0])
	switch {
	case s.open:
		s.refuseInMulti()
	case top == nil && isHTTP(args[0]):
		s.next = Drop
	case top == nil:
		s.refuse(s.unknown(args))
	case top.subs == nil || len(args) < 2:
		s.refuse(s.misused(top, top.name, args))
	case isHelp(args):
		s.help(top)
	case top.sub(args[1]) == nil:
		s.refuse(s.unknownSub(top, args))
	default:
		sub := top.sub(args[1])
		s.refuse(s.misused(sub, top.name+"|"+sub.name, args))
	}
}

// misused says why a command of that full name is not carried out.
func (s *Session) misused(cmd *command, name string, args [][]byte) error {
	if cmd.run == nil || !cmd.fits(len(args)) {
		return refusal(wrongArity(name))
	}
	return s.forbidden(name)
}

// isHTTP reports the words with which a browser would begin: a page that
// makes one talk to this port must not have its requests carried out.
func isHTTP(word []byte) bool {
	return strings.EqualFold(string(word), "post") || strings.EqualFold(string(word), "host:")
}

// count counts a command by its row.
func (s *Session) count(name []byte, cmd *command) {
	i := len(s.all.rows)
	if cmd == nil { // called wrongly, or unknown
		cmd = s.all.lookup(name)
	}
	if cmd != nil {
		i = cmd.index
	}
	(*s.calls)[i].Add(1)
}

// refuse answers a command with the words of an error.
func (s *Session) refuse(err error) { s.w.Error(words(err)) }
