package peer

import (
	"net"
	"runtime"
	"sync"
	"time"
)

const (
	// writeTimeout is what the other end has to take a piece of what is written.
	writeTimeout = 10 * time.Second
	writePiece   = 1 << 20
	// keptBytes is the largest buffer that is kept for the next use.
	keptBytes = 256 << 10
)

// outbox gathers frames of many goroutines and has one write them: what comes
// while a write is under way goes out with the next, together.
type outbox struct {
	wake  chan struct{} // room for one: something waits
	taken chan struct{} // room for one: nothing waits any more

	mu      sync.Mutex
	waiting []byte
	ending  bool // nothing more comes
}

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), taken: make(chan struct{}, 1)}
}

// put appends whole frames. It never waits.
func (o *outbox) put(frames []byte) {
	o.mu.Lock()
	o.waiting = append(o.waiting, frames...)
	o.mu.Unlock()
	signal(o.wake)
}

// end has write return once all is written.
func (o *outbox) end() {
	o.mu.Lock()
	o.ending = true
	o.mu.Unlock()
	signal(o.wake)
}

// size is how much waits to be written.
func (o *outbox) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.waiting)
}

// swap takes what waits and leaves an empty buffer.
func (o *outbox) swap(empty []byte) (full []byte, ending bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	full, o.waiting = o.waiting, empty[:0]
	return full, o.ending
}

// write writes what is put until end, done or an error. Every tick it calls
// beat, which may put frames or return an error.
func (o *outbox) write(nc net.Conn, done <-chan struct{}, tick <-chan time.Time, beat func() error) error {
	var buf []byte
	for {
		select {
		case <-o.wake:
			// Who has put a frame has readied this goroutine to be the next
			// that runs; others, about to put theirs, go first.
			runtime.Gosched()
		case <-tick:
			if err := beat(); err != nil {
				return err
			}
			continue
		case <-done:
			return nil
		}
		var ending bool
		for {
			if cap(buf) > keptBytes {
				buf = nil
			}
			if buf, ending = o.swap(buf); len(buf) == 0 {
				break
			}
			for rest := buf; len(rest) > 0; {
				piece := rest[:min(writePiece, len(rest))]
				rest = rest[len(piece):]
				nc.SetWriteDeadline(time.Now().Add(writeTimeout))
				if _, err := nc.Write(piece); err != nil {
					return err
				}
			}
		}
		signal(o.taken)
		if ending {
			return nil
		}
	}
}

// signal says something to who looks later, once.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
