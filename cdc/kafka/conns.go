package kafka

import (
	"context"
	"net"
	"sync"
	"time"
)

// conns dials for the transport and remembers what it dialled: the transport
// itself only forgets its connections, and a goroutine that waits for an
// answer on one would outlive its owner by the whole deadline.
type conns struct {
	limit time.Duration // no read or write takes longer than this

	mu     sync.Mutex
	open   map[*conn]struct{}
	closed bool
	none   chan struct{} // closed once closed and open is empty
}

func newConns(limit time.Duration) *conns {
	return &conns{limit: limit, open: map[*conn]struct{}{}, none: make(chan struct{})}
}

func (c *conns) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	made := &conn{Conn: nc, owner: c}
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
	return made, nil
}

// close breaks every connection and returns when their users have let go of
// them, which they do as soon as a read or write fails.
func (c *conns) close() {
	c.mu.Lock()
	c.closed = true
	for made := range c.open {
		made.Conn.Close()
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
	net.Conn
	owner *conns
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
