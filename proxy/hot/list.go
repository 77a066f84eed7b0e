package hot

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// One read in so many is shown to a List.
	listed = 64
	// A list forgets by halves: what nobody has read for an hour is gone.
	listTurn = time.Minute
	// 256 sets of 16 keys, 4,096 in all. With keys of 32 bytes they take 350 KiB,
	// with the longest there may be 2.3 MiB.
	listSets = 256
)

// List remembers which keys are read most, in the order of minutes. All its
// methods may be called concurrently.
type List struct {
	seed   maphash.Seed
	counts *counts
	began  time.Time
	turns  atomic.Int64 // that are over
}

// NewList returns a List that has seen nothing.
func NewList() *List {
	return &List{seed: maphash.MakeSeed(), counts: newCounts(listSets, true), began: time.Now()}
}

// Pick says which of n keys that are read together [List.Saw] is to see: mostly
// none, which is -1.
func (l *List) Pick(n int) int {
	if i := rand.IntN(max(n, listed)); i < n {
		return i
	}
	return -1
}

// Saw counts a read of a key, and keeps a copy of that if there is room.
func (l *List) Saw(key []byte) {
	l.forget()
	l.counts.add(maphash.Bytes(l.seed, key), key)
}

// forget lets what is old count less.
func (l *List) forget() {
	now, turns := int64(time.Since(l.began)/listTurn), l.turns.Load()
	if now > turns && l.turns.CompareAndSwap(turns, now) {
		l.counts.halve(int(min(now-turns, 31)))
	}
}

// Hottest returns the keys that want accepts, hottest first, at most that many.
func (l *List) Hottest(want func(key []byte) bool, most int) [][]byte {
	type one struct {
		key   []byte
		count uint32
	}
	var found []one
	l.forget()
	l.counts.each(func(c counter, text []byte) { found = append(found, one{bytes.Clone(text), c.count}) })
	slices.SortFunc(found, func(a, b one) int {
		return cmp.Or(cmp.Compare(b.count, a.count), bytes.Compare(a.key, b.key))
	})
	var keys [][]byte
	for _, f := range found {
		if len(keys) == most {
			break
		}
		if want(f.key) {
			keys = append(keys, f.key)
		}
	}
	return keys
}
