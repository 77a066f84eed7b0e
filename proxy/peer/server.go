package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// Handler is what a Server asks of its node. All may be called concurrently.
type Handler interface {
	// Load answers reqs in results, as a proxy.Source does. The caller is in
	// ctx (proxy.CallerOf), and the time it has.
	Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result)
	// Forget drops what is kept of keys.
	Forget(keys []proxy.Key)
	// Void drops all that is kept of a use case.
	Void(u *proxy.UseCase)
	// Record is what this node says of itself to the one of that name: at most
	// 64 KiB.
	Record(asker string) []byte
	// Ring is what its table of owners is now.
	Ring() (version, checksum uint64)
	// Hottest returns keys kept here that member is to own, hottest first.
	Hottest(member string, most int) [][]byte
}

// Server is a node's server end.
type Server struct {
	handler Handler
	opts    Options
	metrics *serverMetrics
	jobs    sync.Pool // of *job

	mu        sync.Mutex
	inbound   map[*inbound]struct{}
	strangers map[net.Conn]struct{}
	draining  bool
	said      string // the newest refusal in the log
	saidAt    time.Time
}

// NewServer returns a server that asks h.
func NewServer(h Handler, o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		handler: h, opts: o, metrics: newServerMetrics(),
		inbound: map[*inbound]struct{}{}, strangers: map[net.Conn]struct{}{},
	}
	s.jobs.New = func() any { return new(job) }
	return s, nil
}

// Run serves l, which it closes, until ctx ends; a server runs once. Then it
// says goodbye, finishes what is asked until its clients have heard that, for
// at most the drain time, and returns nil after its last goroutine.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var serving sync.WaitGroup
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	s.accept(ctx, work, l, &serving)
	l.Close()
	<-ctx.Done()
	s.drain()
	timer := time.AfterFunc(s.opts.Drain, func() {
		cut()
		s.each((*inbound).cut)
	})
	defer timer.Stop()
	serving.Wait()
	return nil
}

// accept takes connections until ctx ends or the listener is closed. Any other
// error passes, so it is waited out.
func (s *Server) accept(ctx, work context.Context, l net.Listener, serving *sync.WaitGroup) {
	const first, most = 5 * time.Millisecond, time.Second
	wait := first
	for {
		nc, err := l.Accept()
		if err == nil {
			wait = first
			if s.meets(nc) {
				serving.Go(func() { s.serve(work, nc) })
			}
			continue
		}
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return
		}
		s.opts.Log.Warn("accept of a peer failed", "error", err)
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, most)
	}
}

// meets lets a stranger in, unless there are too many.
func (s *Server) meets(nc net.Conn) bool {
	s.mu.Lock()
	ok := !s.draining && len(s.strangers) < maxStrangers
	if ok {
		s.strangers[nc] = struct{}{}
	}
	s.mu.Unlock()
	if !ok {
		s.metrics.refused["busy"].Inc()
		nc.Close()
	}
	return ok
}

// serve runs one connection from its first byte to its last.
func (s *Server) serve(work context.Context, nc net.Conn) {
	l, err := s.handshake(work, nc)
	if err != nil {
		s.settle(nc, nil)
		s.refused(nc, err)
		nc.Close()
		return
	}
	c := newInbound(s, l)
	if !s.settle(nc, c) {
		l.net.Close()
		return
	}
	s.metrics.open.Inc()
	c.run(work)
	s.metrics.open.Dec()
	s.mu.Lock()
	delete(s.inbound, c)
	s.mu.Unlock()
}

// refused counts a handshake that failed, and says why: once a minute, if it
// is the same again.
func (s *Server) refused(nc net.Conn, err error) {
	err = apart(err)
	s.metrics.refused[reasonOf(err)].Inc()
	text, now := err.Error(), time.Now()
	s.mu.Lock()
	again := text == s.said && now.Sub(s.saidAt) < time.Minute
	if !again {
		s.said, s.saidAt = text, now
	}
	s.mu.Unlock()
	if !again {
		s.opts.Log.Warn("peer was refused", "remote", nc.RemoteAddr().String(), "error", err)
	}
}

func (s *Server) handshake(work context.Context, nc net.Conn) (*link, error) {
	ctx, cancel := context.WithTimeout(work, s.opts.Handshake)
	defer cancel()
	deadline, _ := ctx.Deadline()
	nc.SetDeadline(deadline)
	talking := s.metrics.counted(nc)
	if s.opts.ServerTLS != nil {
		c := tls.Server(talking, s.opts.ServerTLS)
		if err := c.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		talking = c
	}
	if s.full() {
		talking.Write(appendFrame([]byte(magic), frameRefusal, []byte{byte(refusedBusy)}))
		return nil, refuse("", refusedBusy, "there are as many connections of peers as are taken")
	}
	l, err := receive(&s.opts, talking)
	if err == nil {
		nc.SetDeadline(time.Time{})
	}
	return l, err
}

func (s *Server) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.inbound) >= maxInbound
}

// settle makes a stranger a peer; with nil it only goes. It reports false when
// the server drains: nobody settles then.
func (s *Server) settle(nc net.Conn, c *inbound) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.strangers, nc)
	if c == nil || s.draining {
		return false
	}
	s.inbound[c] = struct{}{}
	return true
}

// drain closes strangers, and says goodbye to peers.
func (s *Server) drain() {
	s.mu.Lock()
	s.draining = true
	var strangers []net.Conn
	for nc := range s.strangers {
		strangers = append(strangers, nc)
	}
	s.mu.Unlock()
	for _, nc := range strangers {
		nc.Close()
	}
	s.each((*inbound).bye)
}

func (s *Server) each(f func(*inbound)) {
	s.mu.Lock()
	all := make([]*inbound, 0, len(s.inbound))
	for c := range s.inbound {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		f(c)
	}
}
