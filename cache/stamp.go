package cache

import "sync/atomic"

// stampBits makes 2²⁰ stamp slots, 8 MiB: with a million entries a change
// voids about one neighbour besides its own key.
const stampBits = 20

// epoch counts what touched all keys of a use case.
type epoch = atomic.Uint64

// stamps counts, per slot, the changes and writes of the keys that map to it.
// Slots have nothing to do with those of the ring.
type stamps struct {
	shift uint
	slot  []atomic.Uint64
	gone  []atomic.Uint32 // a bit per slot: one of its entries was evicted
}

func newStamps(bits uint) stamps {
	return stamps{
		shift: 64 - bits,
		slot:  make([]atomic.Uint64, 1<<bits),
		gone:  make([]atomic.Uint32, (1<<bits+31)/32),
	}
}

func (s *stamps) index(hash uint64) uint64 { return hash >> s.shift }

func (s *stamps) of(hash uint64) uint64 { return s.slot[s.index(hash)].Load() }

// bump voids every entry of the slot and returns the new stamp.
func (s *stamps) bump(hash uint64) uint64 { return s.slot[s.index(hash)].Add(1) }

func (s *stamps) noteEviction(hash uint64) {
	i := s.index(hash)
	s.gone[i/32].Or(1 << (i % 32))
}

// takeEviction reports whether an entry of the slot was evicted since it was
// asked last.
func (s *stamps) takeEviction(hash uint64) bool {
	i := s.index(hash)
	bit := uint32(1) << (i % 32)
	return s.gone[i/32].Load()&bit != 0 && s.gone[i/32].And(^bit)&bit != 0
}
