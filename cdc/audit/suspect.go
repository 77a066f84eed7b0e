package audit

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

const (
	// maxSuspects stand at a time: with more, something else is wrong that needs
	// no auditor.
	maxSuspects = 1024
	// maxSuspicion is how long one stands whose entry is valid and proves
	// nothing: a stream that stalls longer leaves no entry within the bound.
	maxSuspicion = 10 * time.Minute
	// A suspect is looked at after a beat, then after pauses that double up to
	// this one.
	maxPause = time.Second
)

// suspect is an entry that would have been served, and differed from the source
// afterwards. That is no violation yet:
//
//  1. a row changes from a to b
//  2. the entry is looked at: a, within the bound
//  3. the source is read: b
//  4. the change is applied: the entry is void
//
// Here step 4 comes before the entry claims an as-of of step 3 or later, and the
// contract is kept. Nor is it one if the row has gone back:
//
//  1. a row changes from a to b
//  2. the entry is looked at: a; the source is read: b
//  3. the row changes back to a, both changes are applied, a fill installs a
//
// as the entry is another one then. But if it is the same, it may claim no as-of
// from the end of the read on: b was visible then, and came after a. It did, as
// the entry's value was visible before it was looked at, and that was before the
// read was sent; all that is needed is that both reads are of one history, so the
// primary is asked for (Stream.Found), and another one voids every entry.
//
// The as-of and the end of the read are times of one clock. When that steps
// back, there is a moment in which the new one has told the end of the read and
// entries are not void yet; so a claim counts when it was made twice, a beat
// apart. And a claim may be wrong and the value right by now: what changed the
// row and what changed it back were both missed, or a schema change was undone
// before anybody looked. Whoever is answered with that entry gets what the
// source has; so the source is asked once more, behind the claim.
type suspect struct {
	*sample
	settled bool // its sample is counted, and no concern of this any more
	entry   proxy.EntryID
	seen    proxy.Time // the source had another value at or before it
	held    int        // bytes of the entry's row, or noRow
	had     int        // of the source's
	began   proxy.Time
	next    proxy.Time // when the entry is looked at again
	pause   time.Duration
	claimed bool        // the entry was found to claim too much, once
	claim   *proxy.Held // it was found so twice: what is to be held against the source
	ended   bool
}

const noRow = -1

func bytesOf(r row.Row) int {
	if !r.Exists() {
		return noRow
	}
	return r.Size()
}

// suspect begins a suspicion.
func (a *Auditor) suspect(s *sample, held proxy.Held, seen proxy.Time, had row.Row) {
	if s.picked && a.suspects.has(s.key, held.Entry) {
		return
	}
	if len(a.suspects) >= maxSuspects {
		a.metrics.suspicion(s.key, suspicionGivenUp)
		a.failed(s)
		return
	}
	a.cache.Watch(s.key)
	a.suspects = append(a.suspects, &suspect{
		sample: s, entry: held.Entry, seen: seen, held: bytesOf(held.Row), had: bytesOf(had),
		began: a.now, next: a.now.Add(beat), pause: beat,
	})
}

type suspects []*suspect

// has reports whether an entry is under suspicion already.
func (all suspects) has(key proxy.Key, entry proxy.EntryID) bool {
	return slices.ContainsFunc(all, func(s *suspect) bool { return s.is(key, entry) })
}

func (s *suspect) is(key proxy.Key, entry proxy.EntryID) bool {
	return s.entry == entry && bytes.Equal(s.key.Text, key.Text)
}

// suspectAgain looks at the suspects that are due, and asks the source about
// those that have claimed too much.
func (a *Auditor) suspectAgain(ctx context.Context) {
	var claims []*suspect
	a.suspects = slices.DeleteFunc(a.suspects, func(s *suspect) bool {
		if s.next > a.now {
			return false
		}
		s.pause = min(2*s.pause, maxPause)
		s.next = a.now.Add(s.pause)
		ended := a.decide(s)
		if s.claim != nil {
			claims = append(claims, s)
		}
		return ended
	})
	if len(claims) > 0 {
		a.confirm(ctx, claims)
		a.suspects = slices.DeleteFunc(a.suspects, func(s *suspect) bool { return s.ended })
	}
}

// decide looks at a suspect, and reports whether its suspicion has ended.
func (a *Auditor) decide(s *suspect) bool {
	s.claim = nil
	held := a.cache.Peek(s.key)
	valid := held.Holding == proxy.Served || held.Holding == proxy.Aged
	switch {
	case !valid || held.Entry != s.entry:
		a.settle(s)
		return a.end(s, s.verdict())
	case a.now.Sub(s.began) > maxSuspicion:
		a.settle(s)
		return a.end(s, suspicionGivenUp)
	case held.Holding == proxy.Aged:
		a.settle(s) // nobody is answered with it; the watermark may lift it once more
	case held.AsOf <= s.seen:
		s.claimed = false
	case !s.claimed:
		s.claimed, s.next = true, a.now.Add(beat)
	default:
		s.claim = &held
	}
	return false
}

// confirm asks the source about claims. One that it does not answer stands.
func (a *Auditor) confirm(ctx context.Context, claims []*suspect) {
	keys := make([]proxy.Key, len(claims))
	for i, s := range claims {
		keys[i] = s.key
	}
	results, _ := a.read(ctx, keys)
	for i, s := range claims {
		switch {
		case results[i].Err != nil:
		case results[i].Row.Equal(s.claim.Row):
			a.settle(s)
			s.ended = a.end(s, suspicionFleeting)
		default:
			a.violated(s, *s.claim)
			s.ended = a.end(s, suspicionViolation)
		}
	}
}

// verdict is on an entry that is gone.
func (s *suspect) verdict() suspicion {
	if s.claimed {
		return suspicionFleeting
	}
	return suspicionSettled
}

func (a *Auditor) end(s *suspect, how suspicion) bool {
	a.metrics.suspicion(s.key, how)
	return true
}

// settle counts the change that led to a suspect as consistent from now on.
func (a *Auditor) settle(s *suspect) {
	if !s.settled {
		a.consistent(s.sample, true)
	}
	s.settled = true
}
