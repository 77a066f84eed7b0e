package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	firstRedial = 50 * time.Millisecond
	lastRedial  = 2 * time.Second
	// settled is how long a connection has to live for the next one to be
	// tried soon.
	settled = 5 * time.Second
)

// Peer is another node, reached over a few connections. All its methods may be
// called concurrently.
type Peer struct {
	pool    *Pool
	address string
	breaker breaker

	waiting   atomic.Int64 // requests that wait
	waitBytes atomic.Int64 // theirs

	turn  atomic.Uint32
	conns atomic.Pointer[[]*conn] // that take requests; copied to be changed
	reach

	gone    chan struct{} // closed by stop
	settled chan struct{} // closed once the first attempt to connect has ended

	name atomic.Pointer[string] // that it must have to be asked for keys; "": any

	mu      sync.Mutex
	started bool
	stopped bool
	tried   bool
	trouble error // why the last handshake was refused; nil: it was not
}

func newPeer(p *Pool, address string) *Peer {
	peer := &Peer{pool: p, address: address, gone: make(chan struct{}), settled: make(chan struct{})}
	peer.conns.Store(&[]*conn{})
	peer.name.Store(new(string))
	return peer
}

// start reports true once, unless the peer was stopped before.
func (p *Peer) start() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.started && !p.stopped
	p.started = true
	return first
}

func (p *Peer) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.stopped = true
		close(p.gone)
	}
}

// problem says why the peer cannot be worked with; "": it can, or is away.
func (p *Peer) problem() string {
	p.mu.Lock()
	trouble := p.trouble
	p.mu.Unlock()
	if trouble == nil {
		for _, c := range *p.conns.Load() {
			if !p.means(c) {
				trouble = refuse(c.name, refusedName, "stands where node %q is looked for", *p.name.Load())
			}
		}
	}
	if trouble == nil {
		return p.disagreement(time.Now())
	}
	return fmt.Sprintf("peer at %s: %v", p.address, trouble)
}

// means reports whether the node at the other end is the one that is meant.
func (p *Peer) means(c *conn) bool {
	name := *p.name.Load()
	return name == "" || name == c.name
}

// run keeps the connections up until ctx ends or the peer is let go.
func (p *Peer) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	for range p.pool.opts.Connections {
		running.Go(func() { p.keep(ctx) })
	}
	select {
	case <-p.gone:
	case <-ctx.Done():
	}
	cancel()
	running.Wait()
	p.attempted()
}

// keep has one connection at a time. One that leaves is served to its end
// while the next is made.
func (p *Peer) keep(ctx context.Context) {
	var serving sync.WaitGroup
	defer serving.Wait()
	wait := firstRedial
	for ctx.Err() == nil {
		c, err := p.connect(ctx)
		p.note(err)
		if err == nil {
			began := time.Now()
			serving.Go(func() { p.serve(ctx, c) })
			p.add(c)
			p.attempted()
			<-c.left
			p.remove(c, c.lost())
			if time.Since(began) > settled {
				wait = firstRedial
			}
		}
		if err != nil {
			p.fails()
		}
		p.attempted()
		var refused *RefusedError
		if errors.As(err, &refused) {
			wait = lastRedial
		}
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, lastRedial)
	}
}

// serve serves a connection to its end, and says why that came.
func (p *Peer) serve(ctx context.Context, c *conn) {
	err := c.run(ctx)
	if ctx.Err() == nil && !errors.Is(err, io.EOF) {
		p.pool.opts.Log.Info("connection to a peer has ended", "peer", c.name, "error", err)
	}
}

// connect dials and shakes hands.
func (p *Peer) connect(ctx context.Context) (*conn, error) {
	o := &p.pool.opts
	ctx, cancel := context.WithTimeout(ctx, o.Handshake)
	defer cancel()
	dialed, err := p.pool.dial(ctx, p.address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { dialed.Close() })
	defer stop()
	deadline, _ := ctx.Deadline()
	dialed.SetDeadline(deadline)
	nc := p.pool.metrics.counted(dialed)
	if o.ClientTLS != nil {
		nc = tls.Client(nc, p.tls())
		if err := nc.(*tls.Conn).HandshakeContext(ctx); err != nil {
			nc.Close()
			return nil, apart(err)
		}
	}
	l, err := greet(o, nc)
	if err != nil {
		nc.Close()
		return nil, apart(err)
	}
	nc.SetDeadline(time.Time{})
	return newConn(p, l), nil
}

func (p *Peer) tls() *tls.Config {
	c := p.pool.opts.ClientTLS
	if c.ServerName != "" {
		return c
	}
	c = c.Clone()
	c.ServerName, _, _ = net.SplitHostPort(p.address)
	return c
}

// note remembers what keeps nodes apart, and says it once.
func (p *Peer) note(err error) {
	var refused *RefusedError
	if err != nil && !errors.As(err, &refused) {
		return
	}
	p.mu.Lock()
	was := p.trouble
	p.trouble = nil
	if err != nil {
		p.trouble = err
	}
	p.mu.Unlock()
	switch {
	case err != nil && (was == nil || was.Error() != err.Error()):
		p.pool.opts.Log.Warn("peer cannot be worked with", "peer", p.address, "error", err)
	case err == nil && was != nil:
		p.pool.opts.Log.Info("peer can be worked with again", "peer", p.address)
	}
}

func (p *Peer) attempted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.tried {
		p.tried = true
		close(p.settled)
	}
}

func (p *Peer) add(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := append(append([]*conn(nil), *p.conns.Load()...), c)
	p.conns.Store(&conns)
	p.failed.Store(false)
	p.pool.changes.Add(1)
}

// fails notes an attempt to connect that has.
func (p *Peer) fails() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed.Store(true)
	p.pool.changes.Add(1)
}

func (p *Peer) remove(c *conn, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var conns []*conn
	for _, other := range *p.conns.Load() {
		if other != c {
			conns = append(conns, other)
		}
	}
	p.failed.Store(lost)
	p.conns.Store(&conns)
	p.pool.changes.Add(1)
}
