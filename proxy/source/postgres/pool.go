package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// quiet is how long a connection may have lain unused and still be trusted to
// be open by one who cannot simply ask again.
const quiet = time.Second

var errClosed = errors.New("the source is closed")

// errBusy is returned when no connection became free in time.
var errBusy = errors.New("all connections to the database are in use: raise the pool, or lower the load")

// pool is a bounded number of connections to one server, opened when needed.
// The one used last is used next: what is not needed lies still.
type pool struct {
	config *pgconn.Config
	opts   Options
	free   chan struct{} // one for each connection that is not in use, opened or not
	closed chan struct{}
	epoch  atomic.Uint64 // connections of an earlier one are to be closed

	mu   sync.Mutex
	idle []*Conn
}

func newPool(config *pgconn.Config, o Options, size int) *pool {
	p := &pool{config: config, opts: o, free: make(chan struct{}, size), closed: make(chan struct{})}
	for range size {
		p.free <- struct{}{}
	}
	return p
}

// read runs f with a connection, and once more with a new one if a connection
// that had lain in the pool turns out to be lost.
func (p *pool) read(ctx context.Context, f func(c *Conn) error) error {
	reused, err := p.use(ctx, false, f)
	if reused && classify(err) == isLost && ctx.Err() == nil {
		_, err = p.use(ctx, true, f)
	}
	return err
}

// use runs f with a connection, which is a new one if fresh. It reports
// whether it was one that had been used before.
func (p *pool) use(ctx context.Context, fresh bool, f func(c *Conn) error) (reused bool, err error) {
	if err := p.wait(ctx); err != nil {
		return false, err
	}
	defer func() { p.free <- struct{}{} }()
	c := p.pop()
	if c != nil && (fresh || !c.idle() || c.epoch != p.epoch.Load()) {
		c.Close()
		c = nil
	}
	if reused = c != nil; !reused {
		epoch := p.epoch.Load()
		if c, err = Dial(ctx, p.config, p.opts); err != nil {
			return false, err
		}
		c.epoch = epoch
	}
	err = f(c)
	if classify(err) == isLost || !c.clean() {
		c.Close()
		return reused, err
	}
	c.used = time.Now()
	p.push(c)
	return reused, err
}

// pop returns the connection that was used last, or nil.
func (p *pool) pop() *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return c
}

func (p *pool) push(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

// wait waits until a connection may be used.
func (p *pool) wait(ctx context.Context) error {
	select { // without a timer, where nobody has to wait
	case <-p.closed:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	select {
	case <-p.free:
		return nil
	default:
	}
	timer := time.NewTimer(p.opts.AcquireTimeout)
	defer timer.Stop()
	select {
	case <-p.free:
		return nil
	case <-p.closed:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errBusy
	}
}

// reset makes every connection be opened anew before its next use: the server
// at their other end is no longer the one that is wanted.
func (p *pool) reset() { p.epoch.Add(1) }

// close ends the connections, those in use when they come back.
func (p *pool) close() {
	close(p.closed)
	for range cap(p.free) {
		<-p.free
	}
	for c := p.pop(); c != nil; c = p.pop() {
		c.Close()
	}
}

// clean ends the transaction that something has left open, and reports
// whether the connection can be used by others. An open transaction would give
// its old snapshot to the next.
func (c *Conn) clean() bool {
	if c.idle() {
		return true
	}
	if c.pg.IsClosed() || c.pg.IsBusy() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return c.pg.Exec(ctx, "ROLLBACK").Close() == nil && c.idle()
}

// alive reports whether the connection is open, asking the server if it has
// not been used for a while.
func (c *Conn) alive(ctx context.Context) bool {
	return time.Since(c.used) < quiet || c.pg.Ping(ctx) == nil
}
