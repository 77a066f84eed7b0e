package audit

import (
	"container/heap"
	"context"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// retry is when a change is looked at again that the source did not answer: it
// may be away, and is not to be asked for everything at once when it comes back.
const retry = 5 * time.Second

// question is a key that has to be read from the source.
type question struct {
	*sample
	held proxy.Held
	also []*sample // other changes of the key that are due: the answer is theirs too
}

// due returns what has to be read from the source now, as far as the rate
// allows. Changes that are due and keys that are picked have half of it each, and
// what the others leave. A look that needs no read is done with at once.
func (a *Auditor) due() []question {
	n := int(a.credit)
	half := (n + a.odd) / 2
	a.odd = (a.odd + n) % 2
	changes := a.dueChanges(nil, half)
	picked := a.picked(n - len(changes))
	changes = a.dueChanges(changes, n-len(picked))
	a.share.reads += len(changes)
	a.balance(len(changes)+len(picked) >= n)
	return append(changes, picked...)
}

// dueChanges fills ask up with changes that are due and have to be read, until
// there are n.
func (a *Auditor) dueChanges(ask []question, n int) []question {
	asked := map[string]int{}
	for i, q := range ask {
		asked[string(q.key.Text)] = i
	}
	for len(ask) < n {
		s := a.pending.next(a.now)
		if s == nil {
			break
		}
		if i, ok := asked[string(s.key.Text)]; ok {
			ask[i].also = append(ask[i].also, s)
			continue
		}
		held := a.peek(s.key)
		switch {
		case held.Holding == proxy.Served && held.Entry == s.wrong:
			a.inconsistent(s)
		case judged(held):
			asked[string(s.key.Text)] = len(ask)
			ask = append(ask, question{sample: s, held: held})
		default:
			a.consistent(s, false)
		}
	}
	return ask
}

// picked returns up to n keys that are held and have to be read. Some picks find
// nothing.
func (a *Auditor) picked(n int) (ask []question) {
	for range n {
		key, ok := a.cache.Any(a.random.Uint64())
		if !ok || key.UseCase.Mapping.Replica {
			continue
		}
		if held := a.peek(key); judged(held) {
			ask = append(ask, question{sample: &sample{key: key, picked: true, since: a.now}, held: held})
		}
	}
	return ask
}

// judged reports whether reads are answered with what is held, and whether what
// it claims can be held against the source.
func judged(held proxy.Held) bool { return held.Holding == proxy.Served && !held.Pinned }

// peek looks at a key, and counts what was found, but for what the source has
// to say.
func (a *Auditor) peek(key proxy.Key) proxy.Held {
	held := a.cache.Peek(key)
	switch {
	case held.Holding == proxy.Absent:
		a.metrics.look(key, foundAbsent)
	case held.Holding == proxy.Void:
		a.metrics.look(key, foundVoid)
	case held.Pinned:
		a.metrics.look(key, foundPinned)
	case held.Holding == proxy.Aged:
		a.metrics.look(key, foundAged)
	}
	return held
}

// lookAt reads what was found from the source, and compares.
func (a *Auditor) lookAt(ctx context.Context, ask []question) {
	if len(ask) == 0 {
		return
	}
	keys := make([]proxy.Key, len(ask))
	for i, q := range ask {
		keys[i] = q.key
	}
	results, seen := a.read(ctx, keys)
	for i, q := range ask {
		all := append(q.also, q.sample)
		switch {
		case results[i].Err != nil:
			a.metrics.look(q.key, foundFailed)
			for _, s := range all {
				a.failed(s)
			}
		case results[i].Row.Equal(q.held.Row):
			a.metrics.look(q.key, foundEqual)
			for _, s := range all {
				a.consistent(s, false)
			}
		default:
			a.metrics.look(q.key, foundDiffers)
			for _, s := range all {
				a.suspect(s, q.held, seen, results[i].Row)
			}
		}
	}
}

// read reads keys from the source, all at or before the time seen. What an old
// primary says that lives on after a failover is an error: it came before what
// is held, not after it.
func (a *Auditor) read(ctx context.Context, keys []proxy.Key) (results []proxy.Result, seen proxy.Time) {
	reqs, results := make([]proxy.Request, len(keys)), make([]proxy.Result, len(keys))
	for i := range keys {
		reqs[i].Key = keys[i]
	}
	sent, _ := a.clock.Bounds()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	a.source.Load(ctx, reqs, results)
	_, seen = a.clock.Bounds()
	a.credit -= float64(len(keys))
	a.metrics.reads.Add(float64(len(keys)))
	for i := range results {
		if results[i].Err == nil {
			results[i].Err = a.stream.Found(results[i].Primary, sent)
		}
	}
	return results, seen
}

// failed looks at a change again later, until its last look has passed.
func (a *Auditor) failed(s *sample) {
	due := a.now.Add(retry)
	for _, l := range s.looks {
		if at := s.since.Add(l.after); at > a.now {
			s.due = min(due, at)
			heap.Push(&a.pending, s)
			return
		}
	}
	for _, l := range s.looks {
		a.metrics.change(s, l.within, outcomeLate)
	}
}
