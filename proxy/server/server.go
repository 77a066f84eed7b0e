package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy/command"
)

// Options of a Server. The zero value of a field means its default.
type Options struct {
	MaxConnections int           // at one time, on all listeners; default 10,000
	IdleTimeout    time.Duration // a connection that sends nothing for so long is closed; default 0: never
	WriteTimeout   time.Duration // a peer that takes no replies for so long is closed; default 10 s
	DrainTimeout   time.Duration // how long connections may go on when Run ends; default 5 s
	OutputBytes    int           // replies kept for a peer that is slow to take them; default 32 MiB per connection

	// Of connections that have not said who they are, where that is asked for.
	StrangerTimeout     time.Duration // how long they may stay that; default 10 s
	StrangerOutputBytes int           // default 64 KiB
}

func (o Options) withDefaults() Options {
	o.MaxConnections = cmp.Or(o.MaxConnections, 10_000)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 5*time.Second)
	o.OutputBytes = cmp.Or(o.OutputBytes, 32<<20)
	o.StrangerTimeout = cmp.Or(o.StrangerTimeout, 10*time.Second)
	o.StrangerOutputBytes = cmp.Or(o.StrangerOutputBytes, 64<<10)
	return o
}

// Listener is where connections come from.
type Listener struct {
	net.Listener
	// Redirect: its clients are told which node owns a key
	// (command.Session.Redirect).
	Redirect bool
}

// Server serves connections.
type Server struct {
	commands *command.Commands
	log      *slog.Logger
	metrics  *metrics
	opts     Options

	watchPause time.Duration

	draining atomic.Bool
	mu       sync.Mutex
	conns    map[*conn]struct{}
}

// New returns a server of these commands and registers its metrics.
func New(commands *command.Commands, log *slog.Logger, reg Registerer, opts Options) *Server {
	return &Server{
		commands: commands, log: log, opts: opts.withDefaults(),
		metrics:    newMetrics(reg, commands),
		watchPause: watchPause,
		conns:      map[*conn]struct{}{},
	}
}

// Run serves the listeners, which it closes, until ctx ends; a server runs
// once. It returns nil after its last connection has ended.
func (s *Server) Run(ctx context.Context, listeners ...Listener) error {
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var accepting, serving, watching sync.WaitGroup
	watching.Go(func() { s.watch(work) })
	for _, l := range listeners {
		accepting.Go(func() {
			stop := context.AfterFunc(ctx, func() { l.Close() })
			defer stop()
			s.accept(ctx, work, l, &serving)
			l.Close()
		})
	}
	accepting.Wait()
	<-ctx.Done()
	s.drain()
	timer := time.AfterFunc(s.opts.DrainTimeout, func() {
		cut()
		s.each((*conn).cut)
	})
	defer timer.Stop()
	serving.Wait()
	cut()
	watching.Wait()
	return nil
}

// accept takes connections until ctx ends or the listener is closed. Any other
// error passes (a process that has run out of descriptors gets some back), so
// it is only waited out: at first shortly, then up to a second.
func (s *Server) accept(ctx, work context.Context, l Listener, serving *sync.WaitGroup) {
	const first, most = 5 * time.Millisecond, time.Second
	pause := first
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = first
			s.admit(work, nc, l.Redirect, serving)
			continue
		}
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return
		}
		s.metrics.acceptErrors.Inc()
		s.log.Warn("accept failed", "error", err, "pause", pause)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, most)
	}
}

// admit serves a connection, unless there are too many.
func (s *Server) admit(work context.Context, nc net.Conn, redirect bool, serving *sync.WaitGroup) {
	c := s.add(nc, redirect)
	if c == nil {
		s.metrics.refused.Inc()
		nc.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)) // an empty socket takes it at once
		nc.Write([]byte("-ERR max number of clients reached\r\n"))
		nc.Close()
		return
	}
	s.metrics.opened.Inc()
	serving.Go(func() {
		end := c.serve(work)
		s.remove(c)
		s.metrics.closed[end].Inc()
	})
}

func (s *Server) add(nc net.Conn, redirect bool) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) >= s.opts.MaxConnections {
		return nil
	}
	c := newConn(s, nc, redirect)
	s.conns[c] = struct{}{}
	s.metrics.open.Inc()
	return c
}

func (s *Server) remove(c *conn) {
	c.session.End()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.metrics.open.Dec()
}

// drain lets no connection begin another read. Order matters: a connection
// sets its deadline for a read first and then looks at draining.
//
//  1. It sets its deadline, looks (not draining), reads; drain sets draining,
//     and the deadline that ends the read.
//  2. drain sets draining and the deadline; it sets its own deadline, looks,
//     and does not read.
func (s *Server) drain() {
	s.draining.Store(true)
	s.each((*conn).wake)
}

func (s *Server) each(f func(*conn)) {
	s.mu.Lock()
	all := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		f(c)
	}
}
