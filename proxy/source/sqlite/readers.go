package sqlite

import "context"

// readers is a fixed number of connections, opened when first used and again
// when the path names another file.
type readers struct {
	opts   Options
	idle   chan *Conn // nil: a connection yet to be opened
	closed chan struct{}
}

func newReaders(opts Options) *readers {
	r := &readers{opts: opts, idle: make(chan *Conn, opts.Readers), closed: make(chan struct{})}
	for range opts.Readers {
		r.idle <- nil
	}
	return r
}

// use runs f with a connection. One that met an error is closed: whatever
// state that error left it in is gone with it.
func (r *readers) use(ctx context.Context, f func(*Conn) error) error {
	var c *Conn
	select {
	case c = <-r.idle:
	case <-r.closed:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { r.idle <- c }()
	if c != nil && !c.Current() {
		c.Close()
		c = nil
	}
	if c == nil {
		var err error
		if c, err = Dial(ctx, r.opts.Path, r.opts.BusyTimeout); err != nil {
			return err
		}
	}
	err := f(c)
	if err != nil {
		c.Close()
		c = nil
	}
	return err
}

// close waits for the connections in use, and lets none be opened after.
func (r *readers) close() {
	close(r.closed)
	for range cap(r.idle) {
		if c := <-r.idle; c != nil {
			c.Close()
		}
	}
}
