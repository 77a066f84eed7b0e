package postgres

import (
	"context"
	"sync"
	"time"
)

// message is one message of the log, as it came.
type message struct {
	raw []byte
	xid uint32 // of its transaction
}

// overhead is what a message costs besides its bytes, about.
const overhead = 128

func (m message) size() int { return len(m.raw) + overhead }

// inbox is between the goroutine that reads the log and the one that ships it.
// When it is full the log has to wait: PostgreSQL keeps it.
type inbox struct {
	limit   int
	arrived chan struct{} // holds a value when there is something to take
	room    chan struct{} // holds a value when there may be room again

	mu       sync.Mutex
	messages []message
	size     int // of all that was put in and is not done
	err      error
}

func newInbox(limit int) *inbox {
	return &inbox{limit: limit, arrived: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put reports whether there was room. One message is always taken.
func (b *inbox) put(m message) bool {
	b.mu.Lock()
	fits := b.size == 0 || b.size+m.size() <= b.limit
	if fits {
		b.messages = append(b.messages, m)
		b.size += m.size()
	}
	b.mu.Unlock()
	if fits {
		signal(b.arrived)
	}
	return fits
}

// fail says that nothing more will come, and why.
func (b *inbox) fail(err error) {
	b.mu.Lock()
	if b.err == nil {
		b.err = err
	}
	b.mu.Unlock()
	signal(b.arrived)
}

func (b *inbox) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wait returns when something arrives, and in any case after d.
func (b *inbox) wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-b.arrived:
	case <-t.C:
	case <-ctx.Done():
	}
}

// take returns all that has arrived. It stays counted until done.
func (b *inbox) take() ([]message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.messages
	b.messages = nil
	return m, b.err
}

// roomWithin returns when there may be room, and in any case after d. It
// reports false if ctx ended.
func (b *inbox) roomWithin(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-b.room:
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// done makes room.
func (b *inbox) done(size int) {
	b.mu.Lock()
	b.size -= size
	b.mu.Unlock()
	signal(b.room)
}
