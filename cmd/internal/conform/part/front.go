package part

import (
	"encoding/binary"
	"io"
	"net"
	"sync"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// Front is where all clients of the broker come to. The first request of a
// connection says whose it is, and each client has a way of its own to the
// broker, which can be disturbed.
type Front struct {
	door *stack.Forwarder

	mu     sync.Mutex
	target string
	ways   map[string]*stack.Forwarder
	closed bool
}

// NewFront opens it. It leads nowhere yet.
func NewFront() (*Front, error) {
	f := &Front{ways: map[string]*stack.Forwarder{}}
	door, err := stack.NewRouter(f.lead)
	if err != nil {
		return nil, err
	}
	f.door = door
	return f, nil
}

// Address is where clients come to.
func (f *Front) Address() string { return f.door.Address() }

// Door is what listens there.
func (f *Front) Door() *stack.Forwarder { return f.door }

// To sets where the broker now is.
func (f *Front) To(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.target = address
	for _, w := range f.ways {
		w.To(address)
	}
}

// Way is the way of one client.
func (f *Front) Way(client string) (*stack.Forwarder, error) {
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

// Close ends all connections.
func (f *Front) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.door.Close()
	for _, w := range f.ways { // nobody adds any
		w.Close()
	}
}

// lead leads a connection to its client's way.
func (f *Front) lead(client io.Reader) (target string, head []byte, err error) {
	head, name, err := introduction(client)
	if err != nil {
		return "", nil, err
	}
	w, err := f.Way(name)
	if err != nil {
		return "", nil, err
	}
	return w.Address(), head, nil
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
