package kafka

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// conns dials for the transport and remembers what it dialled: the transport
// itself only forgets its connections, and a goroutine that waits for an
// answer on one would outlive its owner by the whole deadline.
type conns struct {
	limit time.Duration // no read or write takes longer than this
	tls   *tls.Config   // nil: without TLS

	mu     sync.Mutex
	open   map[*conn]struct{}
	closed bool
	none   chan struct{} // closed once closed and open is empty
}

func newConns(limit time.Duration, secure *tls.Config) *conns {
	return &conns{limit: limit, tls: secure, open: map[*conn]struct{}{}, none: make(chan struct{})}
}

func (c *conns) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	made := &conn{Conn: nc, raw: nc, owner: c}
	c.mu.Lock()
	late := c.closed
	if !late {
		c.open[made] = struct{}{}
	}
	c.mu.Unlock()
	if late {
		nc.Close()
		return nil, net.ErrClosed
	}
	if err := made.secure(ctx, address); err != nil {
		made.Close()
		return nil, err
	}
	return made, nil
}

// close breaks every connection and returns when their users have let go of
// them, which they do as soon as a read or write fails.
func (c *conns) close() {
	c.mu.Lock()
	c.closed = true
	for made := range c.open {
		made.raw.Close()
	}
	c.doneLocked()
	c.mu.Unlock()
	<-c.none
}

func (c *conns) forget(made *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.open[made]; ok {
		delete(c.open, made)
		c.doneLocked()
	}
}

func (c *conns) doneLocked() {
	if !c.closed || len(c.open) > 0 {
		return
	}
	select {
	case <-c.none:
	default:
		close(c.none)
	}
}

type conn struct {
	net.Conn // what is read of it are answers, without TLS
	raw      net.Conn
	owner    *conns
	answers  answers
}

// secure speaks TLS, where that is wanted. The transport could, but then nobody
// here would see its answers.
func (c *conn) secure(ctx context.Context, address string) error {
	if c.owner.tls == nil {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	config := c.owner.tls.Clone()
	config.ServerName = cmp.Or(config.ServerName, host)
	secured := tls.Client(c.raw, config)
	c.Conn = secured
	return secured.HandshakeContext(ctx)
}

// Read reads, as long as it may be a broker that answers.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if alien := c.answers.pass(p[:n]); alien != nil {
		return 0, alien
	}
	return n, err
}

// SetDeadline never lifts the deadline: the transport does so before it signs
// in with SASL, and a broker that goes silent there would hold the connection
// and its goroutine for ever. An idle connection does not mind, as each
// request brings its own.
func (c *conn) SetDeadline(t time.Time) error {
	if t.IsZero() {
		t = time.Now().Add(c.owner.limit)
	}
	return c.Conn.SetDeadline(t)
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	c.owner.forget(c)
	return err
}
