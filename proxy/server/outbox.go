package server

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// errSlow is returned when the peer took no replies for the write timeout.
var errSlow = errors.New("replies are not taken")

const (
	// patience is how long a write may hold up the connection's reads. A peer
	// that reads makes room in far less; one that is still writing its
	// pipeline never does, and would wait for us as we wait for it.
	patience = 10 * time.Millisecond
	// piece is what must be taken within the write timeout.
	piece = 64 << 10
)

// outbox writes one connection's replies in order. Usually send writes them
// itself. When the peer does not take them, a second goroutine does (pump),
// and send only appends to what waits, up to a limit.
//
// A write that ran into patience is continued behind the bytes it got rid of.
// A connection whose writes are not bytes on the wire (TLS, where such a write
// breaks the session) needs its outbox underneath.
type outbox struct {
	net     net.Conn
	timeout time.Duration

	pumps sync.WaitGroup
	mu    sync.Mutex
	moved sync.Cond // waiting, pumping or err has changed
	// The rest is under mu.
	pumping bool
	writing int    // bytes that pump has taken
	waiting []byte // what pump takes next
	err     error
}

func newOutbox(nc net.Conn, timeout time.Duration) *outbox {
	o := &outbox{net: nc, timeout: timeout}
	o.moved.L = &o.mu
	return o
}

// send writes replies, or takes a copy to be written. It waits while more than
// the limit is waiting.
func (o *outbox) send(replies []byte, limit int) error {
	if len(replies) == 0 {
		return nil
	}
	if queued, err := o.queue(replies, limit); queued || err != nil {
		return err
	}
	o.net.SetWriteDeadline(time.Now().Add(min(patience, o.timeout)))
	n, err := o.net.Write(replies)
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	o.start(append([]byte(nil), replies[n:]...))
	return nil
}

// queue appends to what waits, if something does.
func (o *outbox) queue(replies []byte, limit int) (queued bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.pumping && o.err == nil && o.writing+len(o.waiting)+len(replies) > limit {
		o.moved.Wait()
	}
	if o.err != nil || !o.pumping {
		return false, o.err
	}
	o.waiting = append(o.waiting, replies...)
	return true, nil
}

func (o *outbox) start(rest []byte) {
	o.mu.Lock()
	o.pumping, o.writing = true, len(rest)
	o.mu.Unlock()
	o.pumps.Go(func() { o.pump(rest) })
}

// pump writes until nothing waits. On an error it closes the connection, since
// its owner may be waiting for bytes of the peer.
func (o *outbox) pump(out []byte) {
	for len(out) > 0 {
		for rest := out; len(rest) > 0; {
			part := rest[:min(piece, len(rest))]
			o.net.SetWriteDeadline(time.Now().Add(o.timeout))
			if _, err := o.net.Write(part); err != nil {
				o.fail(err)
				return
			}
			rest = rest[len(part):]
		}
		o.mu.Lock()
		out, o.waiting = o.waiting, nil
		o.pumping, o.writing = len(out) > 0, len(out)
		o.moved.Broadcast()
		o.mu.Unlock()
	}
}

func (o *outbox) fail(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errSlow
	}
	o.mu.Lock()
	o.err, o.pumping, o.waiting = err, false, nil
	o.moved.Broadcast()
	o.mu.Unlock()
	o.net.Close()
}

// close waits until all is written or has failed.
func (o *outbox) close() error {
	o.pumps.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
