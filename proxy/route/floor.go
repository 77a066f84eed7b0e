package route

import (
	"sync/atomic"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// floors remember the tokens of writes through this node, for 2¹⁴ slots of
// keys: 256 KiB. A floor may be too high, which costs a fill, but never too low.
//
// One word of a slot has the last write, of the key of that tag; the other the
// floor of all keys of the slot, which is that of the writes before. So a write
// makes its slot's other keys wait for no more than older writes, which the
// watermark has passed in a moment. With the floor in one word, ten thousand writes
// a second would have every eighth key of others read from the source.
type floors [1 << floorBits]floor

const floorBits = 14

type floor struct {
	last atomic.Uint64
	all  atomic.Uint64
}

const (
	// A word is a time in units of 2²⁰ ns, about a millisecond, rounded up, and
	// a tag of 20 bits of the key's hash: two keys of a slot share one once in a
	// million, and then have the higher floor.
	unitBits = 20
	tagMask  = 1<<unitBits - 1
)

func word(hash uint64, token proxy.Time) uint64 {
	units := (uint64(token) + 1<<unitBits - 1) >> unitBits
	return units<<unitBits | hash&tagMask
}

func slotOf(hash uint64) uint64 { return hash >> (64 - floorBits) }

// raise notes a write. It is called before the write is answered. A source time
// that nobody knows is no floor: a node serves only when it knows the time.
func (f *floors) raise(hash uint64, token proxy.Time) {
	if token <= 0 || token == proxy.Forever {
		return
	}
	s, next := &f[slotOf(hash)], word(hash, token)
	for {
		last := s.last.Load()
		switch {
		case (last^next)&tagMask == 0 && last >= next:
			return
		case (last^next)&tagMask != 0 && last != 0:
			// Before it goes, so that no reader finds it in neither word.
			s.raiseAll(last &^ tagMask)
		}
		if s.last.CompareAndSwap(last, next) {
			return
		}
	}
}

func (s *floor) raiseAll(to uint64) {
	for {
		all := s.all.Load()
		if all >= to || s.all.CompareAndSwap(all, to) {
			return
		}
	}
}

// of is the token that a read of a key must carry; 0: none.
func (f *floors) of(hash uint64) proxy.Time {
	if hook.Mutant(hook.FloorForgotten) {
		return 0
	}
	s := &f[slotOf(hash)]
	last := s.last.Load() // first: see raise
	all := s.all.Load()
	if last != 0 && (last^hash)&tagMask == 0 {
		all = max(all, last&^tagMask)
	}
	return proxy.Time(all)
}
