package audit

import (
	"container/heap"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

const (
	// easy is how long there must have been little to do until twice as many
	// changes are followed: longer than most bursts are apart.
	easy = 10 * time.Second
	// maxThinned is how many times the share is halved at most: of a million
	// changes a second one is left, after a share of one in a hundred.
	maxThinned = 14
)

// share is how many of the changes are followed. Each has a lot, and those are
// followed whose lots lie below a limit: so those that are followed when fewer
// are, are among those that were, and on every node. Which changes are left out
// has nothing to do with what they are of.
type share struct {
	below   atomic.Uint64
	thinned int
	stands  uint64 // for so many changes of those to be followed each one stands: 2 to the power of thinned
	since   proxy.Time
	reads   int // of the source, for changes, since then
}

// lotOf spreads records evenly by their places in the topic: Fibonacci hashing,
// as Knuth has it.
func lotOf(from proxy.Record) uint64 {
	return (uint64(from.Offset)<<16 ^ uint64(from.Partition)) * 0x9e3779b97f4a7c15
}

// setShare halves the share so many times.
func (a *Auditor) setShare(thinned int) {
	s := &a.share
	s.below.Store(max(math.MaxUint64/uint64(a.opts.OneIn)>>thinned, 1))
	s.thinned, s.stands = thinned, 1<<thinned
	a.metrics.follows(1 / float64(a.opts.OneIn) / float64(s.stands))
}

// thin follows half as many from now on, and leaves half of those that wait:
// each of the others stands for one more that is left out, so that what is
// counted is as if none were.
func (a *Auditor) thin() {
	s := &a.share
	s.since, s.reads = a.now, 0
	if s.thinned == maxThinned {
		return
	}
	a.setShare(s.thinned + 1)
	below := s.below.Load()
	a.pending = slices.DeleteFunc(a.pending, func(w *sample) bool { return w.lot >= below })
	for _, w := range a.pending {
		w.stands *= 2
	}
	heap.Init(&a.pending)
}

// balance follows fewer changes if those that are due cannot be read in time,
// and more if that many would have had the room for a while: half of the reads
// are theirs whatever else there is.
func (a *Auditor) balance(exhausted bool) {
	s := &a.share
	switch {
	case exhausted && len(a.pending) > 0 && a.pending[0].due.Add(a.opts.Slack/2) < a.now:
		a.thin()
	case s.thinned == 0 || a.now.Sub(s.since) < easy:
	case float64(s.reads) <= float64(a.opts.ReadsPerSecond)*a.now.Sub(s.since).Seconds()/4:
		a.setShare(s.thinned - 1)
		fallthrough
	default:
		s.since, s.reads = a.now, 0
	}
}
