package cache

import (
	"sync/atomic"

	"github.com/freshet-cache/freshet/proxy"
)

// keeping says whether what a flight brings is installed: if a read that wants it
// kept shares the flight. It is decided when the flight lands:
//
//  1. a read for another node's key begins a flight
//  2. the flight lands: nobody wants it kept, and nothing is installed
//  3. a read that wants it kept comes before the lock is free
//
// That one must not share the flight, young as its answer is: it would leave
// nothing behind, and the next read would fill again. It takes the next flight.
type keeping struct{ state atomic.Uint32 }

const (
	unasked uint32 = iota // so far only unkept reads share the flight
	asked                 // a read wants it kept
	dropped               // it has landed, unasked
)

// ask has the flight's value kept. It reports false if it is too late for that.
func (k *keeping) ask() bool {
	return k.state.CompareAndSwap(unasked, asked) || k.state.Load() == asked
}

// decide reports, once and for all, whether the value is kept.
func (k *keeping) decide() bool { return !k.state.CompareAndSwap(unasked, dropped) }

// newFlight makes the fill of a key that a read begins. One for an unkept read
// has that as its reason: however often such a key is read, it is filled each
// time.
func newFlight(r *proxy.Request, key string, hash uint64, why reason) *flight {
	f := &flight{useCase: r.Key.UseCase, key: key, hash: hash, why: why, done: make(chan struct{})}
	if r.Unkept {
		f.why = reasonUnkept
	} else {
		f.keeping.ask()
	}
	return f
}
