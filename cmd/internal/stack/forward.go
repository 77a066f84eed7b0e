package stack

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Forwarder passes connections on to a part, well or badly. It may be used
// concurrently.
type Forwarder struct {
	listener net.Listener
	route    Route // nil: all go to target
	wait     sync.WaitGroup

	mu     sync.Mutex
	target string
	way    way
	change chan struct{} // closed at the next change of way
	conns  map[net.Conn]struct{}
	closed bool
}

// way is how bytes are treated.
type way struct {
	cut   bool
	hold  bool
	delay time.Duration
}

// Route says where a connection goes, by what it reads of its beginning: head,
// which is passed on first. An error ends the connection.
type Route func(client io.Reader) (target string, head []byte, err error)

// NewForwarder listens on a port of 127.0.0.1. Until To is called, it treats
// connections as if the part were down.
func NewForwarder() (*Forwarder, error) { return NewRouter(nil) }

// NewRouter is a Forwarder that asks route for each connection where it goes.
func NewRouter(route Route) (*Forwarder, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &Forwarder{listener: l, route: route, conns: map[net.Conn]struct{}{}, change: make(chan struct{})}
	f.wait.Go(f.accept)
	return f, nil
}

// Address is where the forwarder listens.
func (f *Forwarder) Address() string { return f.listener.Addr().String() }

// To sets where new connections go.
func (f *Forwarder) To(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.target = address
}

// Pass lets bytes through again, those held first.
func (f *Forwarder) Pass() { f.turn(way{}) }

// Hold accepts connections and bytes, and passes nothing on: a black hole.
func (f *Forwarder) Hold() { f.turn(way{hold: true}) }

// Delay passes every piece of a connection on d later than it came. What comes
// meanwhile waits behind it.
func (f *Forwarder) Delay(d time.Duration) { f.turn(way{delay: d}) }

// Cut ends all connections, and every new one at once.
func (f *Forwarder) Cut() {
	f.turn(way{cut: true})
	for _, c := range f.open() {
		c.Close()
	}
}

// Close ends the forwarder and its connections.
func (f *Forwarder) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.listener.Close()
	f.Cut()
	f.wait.Wait()
}

func (f *Forwarder) turn(w way) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.way = w
	close(f.change)
	f.change = make(chan struct{})
}

func (f *Forwarder) open() []net.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []net.Conn
	for c := range f.conns {
		out = append(out, c)
	}
	return out
}

func (f *Forwarder) accept() {
	for {
		c, err := f.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil && f.keep(c) {
			f.wait.Go(func() { f.join(c) })
		}
	}
}

// keep notes a connection, or closes it where none are wanted.
func (f *Forwarder) keep(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.way.cut {
		c.Close()
		return false
	}
	f.conns[c] = struct{}{}
	return true
}

func (f *Forwarder) drop(c net.Conn) {
	c.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

// join connects a client with the part, until one of them ends.
func (f *Forwarder) join(client net.Conn) {
	defer f.drop(client)
	target, head, err := f.lead(client)
	if err != nil {
		return
	}
	part, err := net.Dial("tcp", target)
	if err != nil || !f.keep(part) {
		return
	}
	defer f.drop(part)
	if len(head) > 0 && !f.let(head, part) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { f.copy(part, client) })
	both.Go(func() { f.copy(client, part) })
	both.Wait()
}

// lead is where a connection goes, and what it has said already.
func (f *Forwarder) lead(client io.Reader) (target string, head []byte, err error) {
	if f.route != nil {
		return f.route(client)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.target, nil, nil
}

// copy passes bytes on, and ends both connections at the end of one.
func (f *Forwarder) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !f.let(buffer[:n], to) || err != nil {
			return
		}
	}
}

// let writes data to a connection when it is time.
func (f *Forwarder) let(data []byte, to io.Writer) bool {
	arrived := time.Now()
	for {
		f.mu.Lock()
		w, change := f.way, f.change
		f.mu.Unlock()
		left := w.delay - time.Since(arrived)
		switch {
		case w.cut:
			return false
		case w.hold:
			<-change
		case left > 0:
			t := time.NewTimer(left)
			select {
			case <-change:
			case <-t.C:
			}
			t.Stop()
		default:
			_, err := to.Write(data)
			return err == nil
		}
	}
}
