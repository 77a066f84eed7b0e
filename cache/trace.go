package cache

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// trace remembers what happened to keys, for whoever asks why an entry is what
// it is: the newest steps of all keys in rings, those of watched keys in a ring
// of each key's own, which traffic of others does not push out. It is of a fixed
// size, holds no pointer to a key or a row, and names keys by their hashes.
//
// A batch of hits costs it one load, and each hit one more while any key is
// watched. Steps are taken by fills, and by changes of keys that are here: next
// to what these cost, a short lock of one of many stripes does not show.
type trace struct {
	stripes [traceStripes]stripe
	watches atomic.Int64 // slots that are taken
	watched [watchSlots]atomic.Pointer[watch]
	voids   voids
	read    [readSlots]atomic.Uint64 // hashes of keys that were read lately, some of all
}

const (
	// 64 stripes of 256 steps are 1.4 MiB: with a thousand fills and changes a
	// second, some eight seconds of all keys.
	traceStripes = 64
	stripeSteps  = 256
	// Watched keys take the slot of their hash, the newest wins. A multiple of
	// the stripes, so that a slot belongs to one.
	watchSlots = 1024
	watchSteps = 16
	// watchFor is how long a key is watched: as long as an audit looks at it.
	watchFor = 10 * time.Minute
	// One batch of reads in so many leaves the hash of one of its keys.
	batchesPerSample = 64
	readSlots        = 1024
)

// what is a kind of step.
type what uint8

const (
	stepSent        what = iota + 1 // a fill was sent
	stepInstalled                   // its answer was installed
	stepRefused                     // its answer was not kept: a change had passed it
	stepUnkept                      // its answer was not kept: nobody here wanted it
	stepFailed                      // it brought no answer
	stepReplaced                    // a change replaced the entry
	stepDropped                     // a change made the entry void
	stepPassed                      // a change of a key of which nothing was held
	stepWritten                     // a write made the entry void
	stepInvalidated                 // a person did
	stepEvicted                     // the entry had to make room, or found none
	stepVoided                      // everything of the use case was made void
)

// step is one thing that happened to a key.
type step struct {
	hash     uint64
	at       proxy.Time // src_hi
	asof     proxy.Time // of a fill or an entry; a change's commit
	position proxy.Position
	record   proxy.Record // of a change
	epoch    uint64       // of a void
	bytes    int          // of an answer's row
	useCase  int
	what     what
	why      reason // of a fill
}

// stripe has the newest steps of the keys whose hashes it serves.
type stripe struct {
	mu    sync.Mutex
	n     uint64 // steps ever taken
	steps [stripeSteps]step
}

// watch has the newest steps of one key, and counts its reads.
type watch struct {
	hash  uint64
	until proxy.Time
	n     int // steps ever taken; with steps, under the stripe's lock
	steps [watchSteps]step
	reads [reasons]reads // by why a fill was needed; reasonNone: hits
}

// reads counts reads that ended alike.
type reads struct {
	n    atomic.Uint64
	last atomic.Int64
}

func (t *trace) stripeOf(hash uint64) *stripe { return &t.stripes[hash%traceStripes] }

// take remembers a step of a key.
func (t *trace) take(s step) {
	stripe := t.stripeOf(s.hash)
	stripe.mu.Lock()
	defer stripe.mu.Unlock()
	stripe.steps[stripe.n%stripeSteps] = s
	stripe.n++
	if w := t.watchOf(s.hash); w != nil {
		w.takeLocked(s)
	}
}

func (w *watch) takeLocked(s step) {
	w.steps[w.n%watchSteps] = s
	w.n++
}

// watchOf returns the watch of a key, or nil: for almost every key, since few
// are watched.
func (t *trace) watchOf(hash uint64) *watch {
	if w := t.watched[hash%watchSlots].Load(); w != nil && w.hash == hash {
		return w
	}
	return nil
}

// watch watches a key from now on, beginning with what is remembered of it.
func (t *trace) watch(hash uint64, now proxy.Time) {
	slot, stripe := &t.watched[hash%watchSlots], t.stripeOf(hash)
	fresh := &watch{hash: hash, until: now.Add(watchFor)}
	stripe.mu.Lock()
	defer stripe.mu.Unlock()
	if w := slot.Load(); w != nil && w.hash == hash {
		fresh.n, fresh.steps = w.n, w.steps
		for i := range w.reads {
			fresh.reads[i].n.Store(w.reads[i].n.Load())
			fresh.reads[i].last.Store(w.reads[i].last.Load())
		}
	} else {
		for s := range stripe.ofLocked(hash) {
			fresh.takeLocked(s)
		}
	}
	if slot.Swap(fresh) == nil {
		t.watches.Add(1)
	}
}

// ofLocked walks the steps of one key, oldest first.
func (s *stripe) ofLocked(hash uint64) func(yield func(step) bool) {
	return func(yield func(step) bool) {
		for i := s.n - min(s.n, stripeSteps); i < s.n; i++ {
			if one := s.steps[i%stripeSteps]; one.hash == hash && !yield(one) {
				return
			}
		}
	}
}

// of returns what is remembered of a key, oldest first, and its watch if it has
// one.
func (t *trace) of(hash uint64, useCase int) (steps []step, w *watch) {
	stripe := t.stripeOf(hash)
	stripe.mu.Lock()
	defer stripe.mu.Unlock()
	w = t.watchOf(hash)
	if w == nil {
		for s := range stripe.ofLocked(hash) {
			if s.useCase == useCase {
				steps = append(steps, s)
			}
		}
		return steps, nil
	}
	for i := w.n - min(w.n, watchSteps); i < w.n; i++ {
		if s := w.steps[i%watchSteps]; s.useCase == useCase {
			steps = append(steps, s)
		}
	}
	return steps, w
}

// saw counts a read of a watched key.
func (t *trace) saw(w *watch, how reason, now proxy.Time) {
	if now > w.until {
		if t.watched[w.hash%watchSlots].CompareAndSwap(w, nil) {
			t.watches.Add(-1)
		}
		return
	}
	w.reads[how].n.Add(1)
	w.reads[how].last.Store(int64(now))
}

// samples reports whether a batch of reads leaves the hash of one of them: the
// clock's last bits choose, at no cost.
func samples(now proxy.Time) bool { return now%batchesPerSample == 0 }

// sample leaves the hash of one of a batch of reads.
func (t *trace) sample(reqs []proxy.Request, now proxy.Time) {
	hash := hashOf(reqs[uint64(now/batchesPerSample)%uint64(len(reqs))].Key.Text)
	t.read[hash>>32%readSlots].Store(hash)
}

// any returns the hash of some key that was read or filled lately, as random
// chooses; 0 if it finds none.
func (t *trace) any(random uint64) uint64 {
	if random%2 == 0 {
		return t.read[random>>1%readSlots].Load()
	}
	s := t.stripeOf(random >> 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 {
		return 0
	}
	return s.steps[random>>32%min(s.n, stripeSteps)].hash
}

// voids has the newest voids of each use case.
type voids struct {
	mu    sync.Mutex
	cases [][]step // by ID
}

// voidSteps is how many are remembered.
const voidSteps = 4

func (v *voids) take(s step) {
	v.mu.Lock()
	defer v.mu.Unlock()
	of := v.cases[s.useCase]
	if len(of) == voidSteps {
		of = append(of[:0], of[1:]...)
	}
	v.cases[s.useCase] = append(of, s)
}

func (v *voids) of(useCase int) []step {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]step(nil), v.cases[useCase]...)
}
