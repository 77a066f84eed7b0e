package command

import (
	"context"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// gathered is what a pipeline has asked for and not been answered yet: calls
// of one kind, in order.
type gathered struct {
	kind     kind
	calls    []call
	answered int  // calls that are answered
	done     bool // the source has been asked

	requests []proxy.Request
	results  []proxy.Result
	writes   []proxy.Write
	written  []proxy.Written
	fields   []row.Field // of the writes
	columns  [][]byte    // the names HGET and HMGET ask for
	apart    *apart      // of the requests; nil outside a session
	listing  *listing    // of the one call that asks for keys
}

// call is one gathered command and where its part of the rest lies.
type call struct {
	// answer appends the reply. It reports false when Replies is full before
	// the end; it is called again, then.
	answer func(s *Session, c *call) bool
	err    error // refused before it was sent

	first, n       int // requests, or writes
	column, wanted int // columns
	progress       int // replies of an array that are written
	proof          bool
	silent         bool // its reply is not wanted
}

// keep is how much room outlives a batch: one MGET of 100,000 keys must not
// stay with its connection.
const keep = 1024

// joins reports whether a command may be gathered with what is pending.
func (s *Session) joins(cmd *command) bool {
	p := &s.pending
	return cmd.kind != alone && (len(p.calls) == 0 || p.kind == cmd.kind && cmd.kind != lists)
}

// full reports whether what is gathered should go now.
func (s *Session) full() bool {
	p := &s.pending
	return len(p.calls) >= s.batch || len(p.requests) >= s.batch || len(p.writes) >= s.batch
}

// firstBatch is how many keys are gathered before anything is known of the
// size of this client's values.
const firstBatch = 128

// adapt learns from a batch how many keys the next one may have, so that a
// pipeline of large values, answered to a peer that does not read, holds few
// of them.
func (s *Session) adapt() {
	size, n := 0, len(s.pending.results)+len(s.pending.written) // one of them is none
	for i := range s.pending.results {
		size += s.pending.results[i].Row.Size()
	}
	for i := range s.pending.written {
		size += s.pending.written[i].Old.Size()
	}
	switch most := s.all.opts.BatchBytes; {
	case size > most:
		s.batch = max(1, min(s.batch, n*most/size))
	case len(s.pending.results) >= s.batch && 2*size <= most:
		s.batch = min(2*s.batch, s.all.opts.BatchKeys)
	}
}

// call begins a gathered command of a kind.
func (s *Session) call(k kind, answer func(*Session, *call) bool) *call {
	p := &s.pending
	first := len(p.requests)
	if k == writes {
		first = len(p.writes)
	}
	p.kind = k
	p.calls = append(p.calls, call{answer: answer, first: first, column: len(p.columns), silent: s.silent()})
	return &p.calls[len(p.calls)-1]
}

// read adds a request to a call. A replica may show what its primary does not
// show yet, and does not say until when: nothing can be not older than that.
func (s *Session) read(c *call, key proxy.Key, f proxy.Freshness) error {
	p, f := &s.pending, s.of(f)
	if key.UseCase.Mapping.Replica && (s.session || f.Token != 0) {
		return errReplica
	}
	if s.session {
		p.apart.add(p.requests, key.Text)
	}
	p.requests = append(p.requests, proxy.Request{Key: key, Freshness: f})
	c.n++
	return nil
}

// write adds a write to a call.
func (s *Session) write(c *call, w proxy.Write) {
	s.pending.writes = append(s.pending.writes, w)
	c.n++
}

// drop takes back what a call has added and answers it with an error.
func (s *Session) drop(c *call, err error) {
	p := &s.pending
	if p.kind == writes {
		p.writes = p.writes[:c.first]
	} else {
		p.requests = p.requests[:c.first]
		if s.session {
			p.apart.truncate(c.first)
		}
	}
	c.n, c.err = 0, err
}

// settle asks the source for what is gathered, and answers it. It reports
// false if Replies is full before all is answered.
func (s *Session) settle(ctx context.Context) bool {
	p := &s.pending
	if len(p.calls) == 0 {
		return true
	}
	hook.At("command.settle")
	ctx = s.behalf.of(ctx, s.rights.Caller)
	if len(p.requests) > 0 {
		s.load(ctx)
	}
	if len(p.writes) > 0 {
		p.written = sized(p.written, len(p.writes))
		s.all.source.Apply(ctx, p.writes, p.written)
		for i := range p.written {
			s.token = max(s.token, p.written[i].Token)
		}
	}
	if p.listing != nil {
		p.calls[0].err = s.list(ctx, p.listing)
	}
	s.adapt()
	p.done = true
	return s.answer()
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, max(n, 2*cap(s)))
	}
	return s[:n]
}

// answer writes the replies of the calls the source was asked for. It reports
// false if Replies is full before all are written.
func (s *Session) answer() bool {
	p := &s.pending
	if !p.done {
		return true
	}
	for p.answered < len(p.calls) {
		if len(s.w.Out) >= s.all.opts.FlushBytes {
			return false
		}
		c := &p.calls[p.answered]
		start := len(s.w.Out)
		done := s.reply(c)
		if c.silent {
			s.w.Out = s.w.Out[:start]
		}
		if !done {
			return false
		}
		s.release(c)
		p.answered++
	}
	p.reset()
	return true
}

// reply answers one call, as far as there is room.
func (s *Session) reply(c *call) bool {
	if c.err != nil {
		s.refuse(c.err)
		return true
	}
	if s.proof && s.pending.kind == reads && c.n == 1 && !c.proof && c.progress == 0 {
		s.attribute(s.result(c.first))
	}
	return c.answer(s, c)
}

// release lets go of the rows of a call that is answered: those of the calls
// behind it may have to wait for the peer.
func (s *Session) release(c *call) {
	switch s.pending.kind {
	case reads:
		clear(s.pending.results[c.first : c.first+c.n])
	case writes:
		clear(s.pending.written[c.first : c.first+c.n])
	}
}

// reset forgets everything, so that no row and no buffer is held on to.
func (p *gathered) reset() {
	p.answered, p.done, p.listing = 0, false, nil
	p.calls = emptied(p.calls)
	p.requests, p.results = emptied(p.requests), emptied(p.results)
	p.writes, p.written = emptied(p.writes), emptied(p.written)
	p.fields, p.columns = emptied(p.fields), emptied(p.columns)
	if p.apart != nil {
		p.apart.reset()
	}
}

func emptied[T any](s []T) []T {
	if cap(s) > keep {
		return nil
	}
	clear(s)
	return s[:0]
}

// result is the answer to request i.
func (s *Session) result(i int) *proxy.Result {
	if hook.Mutant(hook.RepliesShifted) {
		i = (i + 1) % len(s.pending.results)
	}
	return &s.pending.results[i]
}

// failure is the first error among the results of a call.
func (s *Session) failure(c *call) error {
	for i := range c.n {
		if err := s.result(c.first + i).Err; err != nil {
			return err
		}
	}
	return nil
}
