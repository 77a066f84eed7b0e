package audit

import (
	"bytes"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// sample is a key to be looked at: one that a change was of, or one that was
// picked among those held.
type sample struct {
	key    proxy.Key
	picked bool   // no change led to it
	change change // which change did
	since  proxy.Time
	looks  []look        // those to come, in order; none if picked
	due    proxy.Time    // of the next
	wrong  proxy.EntryID // the entry by which it violated the contract, if it did
}

// change is where a change was found.
type change struct {
	record   proxy.Record
	position proxy.Position
}

// Change sees a change before it is applied, and follows one in so many. It
// does not block, and keeps nothing of r.
func (a *Auditor) Change(from proxy.Record, r *event.Record) {
	if !a.follows(from) || r.Change == nil {
		return
	}
	switch r.Change.Op {
	case event.Insert, event.Update, event.Delete, event.Touch:
	default:
		return // of all keys, not of one
	}
	for _, u := range a.catalog.OnTable(r.Change.Table) {
		if u.Mapping.Replica {
			continue // its entries are pinned
		}
		before := keyOf(u.Mapping, r.Change.Before)
		after := keyOf(u.Mapping, r.Change.After)
		if before != nil && !bytes.Equal(before, after) {
			a.follow(u, before, from, r)
		}
		if after != nil {
			a.follow(u, after, from, r)
		}
	}
}

// follows chooses changes by their place in the topic, evenly: Fibonacci
// hashing, as Knuth has it.
func (a *Auditor) follows(from proxy.Record) bool {
	h := (uint64(from.Offset)<<16 ^ uint64(from.Partition)) * 0x9e3779b97f4a7c15
	return h>>32%uint64(a.opts.OneIn) == 0
}

// keyOf returns the key that fields tell, or nil.
func keyOf(m *row.Mapping, fields []row.Field) []byte {
	if len(fields) == 0 {
		return nil
	}
	key, _ := m.Key(fields)
	return key
}

func (a *Auditor) follow(u *proxy.UseCase, key []byte, from proxy.Record, r *event.Record) {
	s := &sample{
		key:    proxy.Key{UseCase: u, Text: key},
		change: change{record: from, position: r.Position},
		since:  r.Change.Commit,
		looks:  a.schedules[u.ID],
	}
	select {
	case a.inbox <- s:
	default:
		a.metrics.dropped.Inc()
	}
}

// takeIn takes in the changes that have come since the last beat. One whose
// commit time nobody tells, or which tells one from the future, counts from
// now.
func (a *Auditor) takeIn() {
	for {
		select {
		case s := <-a.inbox:
			if len(a.pending) >= maxPending {
				a.metrics.dropped.Inc()
				continue
			}
			if s.since <= 0 || s.since > a.now {
				s.since = a.now
			}
			a.pending.add(s)
		default:
			return
		}
	}
}
