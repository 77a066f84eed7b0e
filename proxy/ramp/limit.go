package ramp

import "time"

const (
	// leastLoads is how far trouble can lower the limit.
	leastLoads = 4
	// A round is as many loads as may run at once, so about one answer's time
	// while the limit is in use, and at least so many: one slow load of two says
	// nothing.
	leastRound = 8
	// A round whose loads took this many times what the best took, on average, and
	// slack more, shows that loads wait for each other at the source. The slack is
	// what large batches and a busy network take by themselves.
	tolerated = 2
	slack     = 2 * time.Millisecond
	// The best is that of the last one to two spans: a source that has become
	// slower for good is no trouble for longer.
	span = 30 * time.Second
	// What is not in use for this long is half given up.
	unused = time.Second
)

// limit says how many loads may run at once. It is Reno's congestion window
// (Jacobson: Congestion Avoidance and Control, 1988; RFC 5681) with Vegas' signal
// (Brakmo, O'Malley, Peterson 1994), which is also that of Netflix's
// concurrency-limits: not loss, but time. It doubles each round up to enough, then
// grows by one each round, is halved on trouble, and decays while it is not used
// (RFC 2861), so that what everybody suddenly wants after a quiet time begins low
// again. Pure: times are given.
type limit struct {
	start  int // what it begins with, and decays to
	most   int
	enough int // up to it doubling was well

	ended  int // of this round
	took   time.Duration
	inFull bool      // as many were wanted as may run, in this round
	since  time.Time // loads begun before do not count: they are of another limit

	best, bestBefore time.Duration // of this span, and of the one before; 0: none
	spanEnds         time.Time
	peak             int // loads that were wanted at once, lately
	peakUntil        time.Time
}

// enormous is no limit.
const enormous = 1 << 30

func newLimit(start int, now time.Time) limit {
	return limit{start: start, most: start, enough: enormous, spanEnds: now.Add(span), peakUntil: now.Add(unused)}
}

// wanted notes that so many loads run or wait now.
func (l *limit) wanted(loads int, now time.Time) {
	l.decay(now)
	l.peak = max(l.peak, loads)
	l.inFull = l.inFull || loads >= l.most
}

// finished notes a load that has ended.
func (l *limit) finished(began, now time.Time, failed bool) {
	if began.Before(l.since) {
		return
	}
	if now.After(l.spanEnds) {
		l.bestBefore, l.best, l.spanEnds = l.best, 0, now.Add(span)
	}
	l.ended++
	l.took += now.Sub(began)
	round := max(l.most, leastRound)
	switch {
	case failed, l.slow(round):
		l.halve(now)
	case l.ended >= round:
		l.grow(now)
	}
}

// slow reports whether the round is slower than what is tolerated, whatever
// its other loads will take.
func (l *limit) slow(round int) bool {
	best := l.least()
	return best > 0 && l.took > time.Duration(round)*(tolerated*best+slack)
}

// least is what loads take when the source has little to do.
func (l *limit) least() time.Duration {
	if l.best == 0 || l.bestBefore != 0 && l.bestBefore < l.best {
		return l.bestBefore
	}
	return l.best
}

func (l *limit) halve(now time.Time) {
	l.most = max(leastLoads, l.most/2)
	l.enough = l.most
	l.since = now
	l.nextRound()
}

// grow ends a round that went well. What is not in use stays: nothing shows
// that more would be well, too.
func (l *limit) grow(now time.Time) {
	mean := l.took / time.Duration(l.ended)
	if l.best == 0 || mean < l.best {
		l.best = mean
	}
	switch {
	case !l.inFull || l.most >= enormous:
	case l.most < l.enough:
		l.most = min(2*l.most, l.enough)
	default:
		l.most++
	}
	l.nextRound()
}

func (l *limit) nextRound() { l.ended, l.took, l.inFull = 0, 0, false }

// decay gives up half of what was allowed and not used, once for every time that
// more than twice of what was used was allowed. As far as it was well before, it
// doubles again.
func (l *limit) decay(now time.Time) {
	for now.After(l.peakUntil) {
		used := max(l.peak, l.start)
		if used == l.start && l.most <= 2*l.start { // and will be, however long nobody came
			l.peakUntil = now
		} else if l.most > 2*used {
			l.enough = max(l.enough, l.most*3/4)
			l.most = (l.most + used) / 2
			l.nextRound() // the one before was larger
		}
		l.peak, l.peakUntil = 0, l.peakUntil.Add(unused)
	}
}
