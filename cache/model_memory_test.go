package cache

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// forgetfulStore is memory at its worst: a new value becomes visible late or
// never, a second one for the same new key may lose against the first, and any
// entry may go at any time. Nothing the contract promises may rest on it.
type forgetfulStore struct {
	rng  *rand.Rand
	m    map[uint64]*entry
	late map[uint64]*entry
}

func forgetfulMemory(int64, func(*entry)) (entries, error) {
	return &forgetfulStore{m: map[uint64]*entry{}, late: map[uint64]*entry{}}, nil
}

func (s *forgetfulStore) Get(h uint64) *entry {
	if e := s.late[h]; e != nil && s.rng.IntN(3) == 0 {
		s.m[h] = e
		delete(s.late, h)
	}
	return s.m[h]
}

func (s *forgetfulStore) Has(h uint64) bool { return s.m[h] != nil }

func (s *forgetfulStore) Put(h uint64, e *entry, _ int) {
	switch {
	case s.m[h] != nil:
		s.m[h] = e
	case s.late[h] != nil: // the first of two wins
	case s.rng.IntN(20) == 0: // refused
	default:
		s.late[h] = e
	}
}

func (s *forgetfulStore) Drop(h uint64) { delete(s.m, h) } // what is late may come back

func (s *forgetfulStore) Settle() {
	for h, e := range s.late {
		s.m[h] = e
	}
	clear(s.late)
}

func (s *forgetfulStore) Used() (int64, int64) { return 0, 0 }
func (s *forgetfulStore) Len() int64           { return 0 }
func (s *forgetfulStore) Close()               {}

func (n *modelNode) evictSome(rng *rand.Rand) {
	for _, s := range n.Cache.stores {
		s := s.(*forgetfulStore)
		for _, h := range slices.Sorted(maps.Keys(s.m)) {
			if rng.IntN(2) == 0 {
				n.evicted(s.m[h])
				delete(s.m, h)
			}
		}
	}
}
