package server

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy/command"
)

// end is why a connection ended.
type end uint8

const (
	byClient   end = iota // it closed, or was lost
	byCommand             // QUIT, or bytes that are no request
	byIdle                // nothing came for the idle timeout
	bySlow                // replies were not taken for the write timeout
	byStranger            // it did not say who it is
	byDrain               // the server stops
	byPanic               // a defect
	numberEnds = iota
)

func (e end) String() string {
	return [numberEnds]string{"client", "command", "idle", "slow", "stranger", "drain", "panic"}[e]
}

const (
	// smallBuffer is what a connection reads into at first: most of the memory
	// of an idle one.
	smallBuffer = 4 << 10
	// busyBuffer is what a connection whose reads fill the buffer comes to:
	// what is read at once is answered at once. Only a single request larger
	// than it makes the buffer grow beyond.
	busyBuffer = 64 << 10
)

// conn is one connection.
type conn struct {
	server  *Server
	net     net.Conn
	session *command.Session
	out     *outbox

	in         []byte // the read buffer
	start, end int    // what of it is read and not done with

	idle bool // drain has found it waiting, with nothing unread

	until time.Time // when a stranger's time is over; zero: it is none

	giveUp  context.CancelCauseFunc // ends the step under way, and with it the connection; set before the first
	steps   atomic.Uint64           // steps begun and ended: odd within one
	watched uint64                  // what steps was when the watch last looked; under the server's mu
	killed  atomic.Bool
	active  time.Time // when the watch last saw that steps had moved; under the server's mu
}

func newConn(s *Server, nc net.Conn, redirect bool) *conn {
	c := &conn{
		server: s, net: nc,
		session: s.commands.NewSession(),
		out:     newOutbox(nc, s.opts.WriteTimeout),
		in:      make([]byte, smallBuffer),
		active:  time.Now(),
	}
	if redirect {
		c.session.Redirect()
	}
	c.session.Attach(c)
	return c
}

// Addresses implements command.Carrier.
func (c *conn) Addresses() (remote, local string) {
	return c.net.RemoteAddr().String(), c.net.LocalAddr().String()
}

// Idle implements command.Carrier, to within watchPause: a clock is not read
// for every step.
func (c *conn) Idle() time.Duration {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.steps.Load() != c.watched {
		return 0
	}
	return time.Since(c.active)
}

// Kill implements command.Carrier. A command that waits is ended by the watch.
func (c *conn) Kill() {
	c.killed.Store(true)
	c.cut()
}

// wake ends a read that waits.
func (c *conn) wake() { c.net.SetReadDeadline(time.Unix(1, 0)) }

// cut ends the connection at once.
func (c *conn) cut() { c.net.Close() }

// serve runs the connection to its end.
func (c *conn) serve(ctx context.Context) (why end) {
	ctx, c.giveUp = context.WithCancelCause(ctx)
	defer c.giveUp(nil)
	defer c.net.Close()
	defer func() {
		if p := recover(); p != nil {
			why = byPanic
			c.server.log.Error("panic in a command", "panic", p, "stack", string(debug.Stack()))
			c.net.Close() // so that the outbox ends
			c.out.close()
		}
	}()
	why, err := c.loop(ctx)
	if flushErr := c.out.close(); err == nil {
		err = flushErr
	}
	switch {
	case err != nil:
		return c.classify(err)
	case why == byCommand, why == byDrain && !c.idle:
		c.linger()
	}
	return why
}

func (c *conn) loop(ctx context.Context) (end, error) {
	for {
		c.steps.Add(1)
		n, next := c.session.Step(ctx, c.in[c.start:c.end])
		c.steps.Add(1)
		c.start += n
		if ctx.Err() != nil { // what it has answered since is no answer
			return byClient, context.Cause(ctx)
		}
		if next == command.Drop {
			return byCommand, nil
		}
		if err := c.out.send(c.session.Replies(), c.outputBytes()); err != nil {
			return bySlow, err
		}
		switch next {
		case command.Close:
			return byCommand, nil
		case command.Read:
			if more, err := c.read(); !more {
				return byDrain, err
			}
		}
	}
}

// read waits for more bytes. It reports false without an error when the
// server drains.
func (c *conn) read() (more bool, err error) {
	c.makeRoom()
	c.setDeadline()
	if c.server.draining.Load() {
		return false, nil
	}
	n, err := c.net.Read(c.in[c.end:])
	c.end += n
	if n > 0 {
		return true, nil
	}
	if c.server.draining.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		c.idle = true
		return false, nil
	}
	return err == nil, err
}

// setDeadline says until when bytes must come. A stranger's time does not begin
// anew with what it sends.
func (c *conn) setDeadline() {
	opts := &c.server.opts
	switch wasStranger := !c.until.IsZero(); {
	case c.session.Stranger():
		if !wasStranger {
			c.until = time.Now().Add(opts.StrangerTimeout)
		}
		c.net.SetReadDeadline(c.until)
		return
	case opts.IdleTimeout > 0:
		c.net.SetReadDeadline(time.Now().Add(opts.IdleTimeout))
	case wasStranger:
		c.net.SetReadDeadline(time.Time{})
	}
	c.until = time.Time{}
}

func (c *conn) outputBytes() int {
	if c.session.Stranger() {
		return c.server.opts.StrangerOutputBytes
	}
	return c.server.opts.OutputBytes
}

// makeRoom prepares the buffer for a read: it moves what is left of a full one
// to the front, doubles one that fills, and gives a large one back that did
// not. The parser refuses a request before its buffer grows without bound.
func (c *conn) makeRoom() {
	size, left := len(c.in), c.end-c.start
	filled := c.end == size
	switch {
	case left > 0 && !filled:
		return
	case left > size/2, filled && size < busyBuffer:
		size *= 2
	case left == 0 && (size > busyBuffer || c.end < size/8):
		size = smallBuffer
	}
	old := c.in[c.start:c.end]
	if size != len(c.in) {
		c.in = make([]byte, size)
	}
	c.start, c.end = 0, copy(c.in, old)
}

// classify says why a connection failed.
func (c *conn) classify(err error) end {
	switch {
	case errors.Is(err, errSlow):
		return bySlow
	case errors.Is(err, os.ErrDeadlineExceeded) && c.session.Stranger():
		return byStranger
	case errors.Is(err, os.ErrDeadlineExceeded):
		return byIdle
	case c.server.draining.Load():
		return byDrain
	}
	return byClient
}

// linger lets the last replies arrive: to close a socket that holds unread bytes
// resets it, and the reset overtakes what the peer has not taken yet.
func (c *conn) linger() {
	const patience, most = time.Second, 1 << 20
	half, ok := c.net.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	c.net.SetReadDeadline(time.Now().Add(patience))
	io.CopyN(io.Discard, c.net, most)
}
