package embedded

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// front is where all clients of the broker come to. The first request of a
// connection says whose it is, and each client has a way of its own to the
// broker, which can be disturbed.
type front struct {
	listener net.Listener
	wait     sync.WaitGroup

	mu     sync.Mutex
	target string
	ways   map[string]*stack.Forwarder
	open   map[net.Conn]struct{}
	closed bool
}

func newFront() (*front, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &front{listener: l, ways: map[string]*stack.Forwarder{}, open: map[net.Conn]struct{}{}}
	f.wait.Go(f.accept)
	return f, nil
}

func (f *front) address() string { return f.listener.Addr().String() }

// to sets where the broker now is.
func (f *front) to(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.target = address
	for _, w := range f.ways {
		w.To(address)
	}
}

// way is the way of one client.
func (f *front) way(client string) (*stack.Forwarder, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, net.ErrClosed
	}
	if w := f.ways[client]; w != nil {
		return w, nil
	}
	w, err := stack.NewForwarder()
	if err != nil {
		return nil, err
	}
	w.To(f.target)
	f.ways[client] = w
	return w, nil
}

func (f *front) close() {
	f.mu.Lock()
	f.closed = true
	for c := range f.open {
		c.Close()
	}
	f.mu.Unlock()
	f.listener.Close()
	for _, w := range f.ways { // nobody adds any
		w.Close()
	}
	f.wait.Wait()
}

func (f *front) accept() {
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

func (f *front) keep(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		c.Close()
		return false
	}
	f.open[c] = struct{}{}
	return true
}

func (f *front) drop(c net.Conn) {
	c.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, c)
}

// join leads a connection to its way.
func (f *front) join(client net.Conn) {
	defer f.drop(client)
	head, name, err := introduction(client)
	if err != nil {
		return
	}
	w, err := f.way(name)
	if err != nil {
		return
	}
	onward, err := net.Dial("tcp", w.Address())
	if err != nil || !f.keep(onward) {
		return
	}
	defer f.drop(onward)
	if _, err := onward.Write(head); err != nil {
		return
	}
	var both sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // its end is all there is to know
		to.Close()
		from.Close()
	}
	both.Go(func() { pass(onward, client) })
	both.Go(func() { pass(client, onward) })
	both.Wait()
}

// introduction reads the beginning of a connection's first request, up to the
// client's name: size, kind and version of the request, its number, and the
// name with its length.
func introduction(r io.Reader) (head []byte, client string, err error) {
	head = make([]byte, 14)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, "", err
	}
	n := int16(binary.BigEndian.Uint16(head[12:]))
	name := make([]byte, max(0, n))
	if _, err := io.ReadFull(r, name); err != nil {
		return nil, "", err
	}
	return append(head, name...), string(name), nil
}
