package hot

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// Options say when a key is hot. The zero value of a field means its default.
type Options struct {
	// Share of all reads that makes a key hot. Default 0.01.
	Share float64
	// Rate is how many reads a second it must have besides. Default 100.
	Rate float64
}

const (
	// One read in so many is counted, by chance: a key of 100 reads a second
	// still shows as a dozen.
	sampled = 8
	// After each turn everything counted before counts half, so that what is
	// counted is about the last two seconds.
	turn = time.Second
	// 64 sets of 16 counters, 17 KiB: a key of one read in a hundred keeps its
	// counter among any number of others.
	keySets = 64
	// A key stays hot until it has less than this part of what made it hot, so
	// that one at the edge does not come and go.
	stay = 0.5
)

// Keys tells which keys are hot. All its methods may be called concurrently.
type Keys struct {
	o      Options
	counts *counts
	began  time.Time
	turns  atomic.Int64 // that have been looked at
	hot    atomic.Pointer[table]
}

// NewKeys returns a Keys that has seen nothing.
func NewKeys(o Options) *Keys {
	o.Share, o.Rate = cmp.Or(o.Share, 0.01), cmp.Or(o.Rate, 100)
	k := &Keys{o: o, counts: newCounts(keySets, false), began: time.Now()}
	k.hot.Store(&table{})
	return k
}

// Saw counts a read of the key of that hash and reports whether it is hot.
func (k *Keys) Saw(hash uint64) bool {
	if rand.Uint32()%sampled == 0 {
		k.saw(hash)
	}
	return k.Is(hash)
}

// Is reports whether the key of that hash is hot.
func (k *Keys) Is(hash uint64) bool { return k.hot.Load().has(hash) }

// Number returns how many keys are hot.
func (k *Keys) Number() int { return k.hot.Load().n }

// saw counts a read that was chosen, and at the end of a turn looks who is hot:
// without reads nobody asks.
func (k *Keys) saw(hash uint64) {
	now, turns := int64(time.Since(k.began)/turn), k.turns.Load()
	if now > turns && k.turns.CompareAndSwap(turns, now) {
		k.look(now - turns)
	}
	k.counts.add(hash, nil)
}

// look finds the hot keys after that many turns. In a stream that goes on, what
// is counted by the end of a turn is that of two turns: this one, half of the one
// before, a quarter of the one before that. Where nobody came for longer, what was
// counted is that much older.
func (k *Keys) look(turns int64) {
	if turns > 1 {
		k.counts.halve(int(min(turns-1, 31)))
	}
	before := k.hot.Load()
	var found []counter
	seen := k.counts.each(func(one counter, _ []byte) { found = append(found, one) })
	slices.SortFunc(found, func(a, b counter) int { return cmp.Compare(b.count, a.count) })
	share := float64(seen) * k.o.Share
	rate := k.o.Rate * 2 * turn.Seconds() / sampled
	next := &table{}
	for i := range found {
		one := &found[i]
		enters := float64(one.least()) >= max(share, rate)
		stays := before.has(one.hash) && float64(one.count) >= stay*max(share, rate)
		if enters || stays {
			next.put(one.hash)
		}
	}
	k.hot.Store(next)
	k.counts.halve(1)
}
