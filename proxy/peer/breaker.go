package peer

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	tolerated   = 5 // failures in a row that a breaker stays closed for
	firstPause  = 100 * time.Millisecond
	longestStop = 5 * time.Second
)

// breaker keeps calls from a peer that does not answer: closed, calls pass;
// open after tolerated failures in a row, they do not; half-open after a pause,
// one may try. If that fails the next pause is twice as long, up to longestStop.
// Every answer closes it.
type breaker struct {
	failures atomic.Int32 // in a row; 0 is the way without the lock
	isOpen   atomic.Bool

	mu      sync.Mutex
	until   time.Time // open: when somebody may try
	pause   time.Duration
	probing bool
}

// permit reports whether a call may be made, and whether it is the one that
// tries. Each permitted call ends in succeeded, failed or released.
func (b *breaker) permit(now time.Time) (probe, ok bool) {
	if !b.isOpen.Load() {
		return false, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.isOpen.Load():
		return false, true
	case b.probing || now.Before(b.until):
		return false, false
	}
	b.probing = true
	return true, true
}

// succeeded: the peer has answered something.
func (b *breaker) succeeded() {
	if b.failures.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures.Store(0)
	b.isOpen.Store(false)
	b.probing, b.pause = false, 0
}

// failed: the peer has not answered in time, or was lost. Calls that began
// before the breaker opened add nothing to it.
func (b *breaker) failed(now time.Time, probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isOpen.Load() && !probe || b.failures.Add(1) < tolerated {
		return
	}
	if probe {
		b.probing = false
	}
	b.pause = min(max(2*b.pause, firstPause), longestStop)
	b.until = now.Add(jittered(b.pause))
	b.isOpen.Store(true)
}

// released: the call says nothing about the peer.
func (b *breaker) released(probe bool) {
	if !probe {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
}

// state is an index of breakerStates.
func (b *breaker) state(now time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.isOpen.Load():
		return 0
	case b.probing || !now.Before(b.until):
		return 1
	}
	return 2
}

var breakerStates = [...]string{"closed", "half-open", "open"}

// jittered is between half of d and d, so that nodes do not come back together.
func jittered(d time.Duration) time.Duration {
	return d/2 + time.Duration(rand.Int64N(int64(d/2)+1))
}
