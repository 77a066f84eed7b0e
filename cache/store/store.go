package store

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"
)

// MinBytes is the smallest bound: below it the tables alone would fill it.
const MinBytes = 1 << 20

const (
	// entryOverhead is what ristretto holds per entry besides the value: a map
	// slot of 48 bytes in its store and one of 16 in its policy, both with the
	// slack of a map that has just grown. Measured with entries of 1 byte to
	// 64 KiB.
	entryOverhead = 240
	// One in counterShare of the bound goes to the frequency sketch (4 rows of
	// 4 bits) and its bloom filter (9.6 bits, rounded up to a power of two).
	counterShare    = 16
	bytesPerCounter = 4
	// fixedBytes is for the queues and shards of an empty store.
	fixedBytes = 512 << 10
)

// Store holds values of type V up to a number of bytes.
type Store[V any] struct {
	cache *ristretto.Cache[uint64, *V]
	held  atomic.Int64 // values put and not gone yet
}

// New returns a store for the given number of bytes. evicted is called for
// each value that had to make room or found none; it runs on the store's own
// goroutine and must not call the store.
func New[V any](maxBytes int64, evicted func(*V)) (*Store[V], error) {
	if maxBytes < MinBytes {
		return nil, fmt.Errorf("a store of %d bytes is too small: give it at least %d", maxBytes, MinBytes)
	}
	counters := int64(1) << (bits.Len64(uint64(maxBytes/counterShare/bytesPerCounter)) - 1)
	s := &Store[V]{}
	gone := func(it *ristretto.Item[*V]) {
		if it.Value != nil {
			evicted(it.Value)
		}
	}
	var err error
	s.cache, err = ristretto.NewCache(&ristretto.Config[uint64, *V]{
		NumCounters:        counters,
		MaxCost:            maxBytes - maxBytes/counterShare - fixedBytes,
		BufferItems:        64,
		IgnoreInternalCost: true,
		OnEvict:            gone,
		OnReject:           gone,
		OnExit: func(v *V) {
			if v != nil {
				s.held.Add(-1)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make a store of %d bytes: %w", maxBytes, err)
	}
	return s, nil
}

// Get returns the value under hash, or nil.
func (s *Store[V]) Get(hash uint64) *V {
	v, _ := s.cache.Get(hash)
	return v
}

// Has reports whether there is a value under hash, without counting it as a
// use.
func (s *Store[V]) Has(hash uint64) bool {
	_, ok := s.cache.GetTTL(hash)
	return ok
}

// Put offers a value that holds size bytes. The store may refuse it.
//
// Setting a key again never evicts anything, so values that grow would lift
// the store over its bound for good: once it is over, a Put removes its key
// first and competes for room like a new one.
func (s *Store[V]) Put(hash uint64, v *V, size int) {
	if s.cache.RemainingCost() < 0 {
		s.cache.Del(hash)
	}
	if s.cache.Set(hash, v, int64(size)+entryOverhead) {
		s.held.Add(1)
	}
}

// Drop removes the value under hash.
func (s *Store[V]) Drop(hash uint64) { s.cache.Del(hash) }

// Settle returns once every Put before it is visible or refused.
func (s *Store[V]) Settle() { s.cache.Wait() }

// Used returns the bytes accounted for, and the bound.
func (s *Store[V]) Used() (used, bound int64) {
	bound = s.cache.MaxCost()
	return bound - s.cache.RemainingCost(), bound
}

// Len returns about how many values the store holds.
func (s *Store[V]) Len() int64 { return max(0, s.held.Load()) }

// Close ends the store's goroutines. Nobody may use the store any more.
func (s *Store[V]) Close() { s.cache.Close() }
