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
	lot    uint64 // the change's
	stands uint64 // for so many changes: itself, and those that are left out in its place
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
	lot := lotOf(from)
	if lot >= a.share.below.Load() || r.Change == nil {
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
			a.follow(u, before, lot, from, r)
		}
		if after != nil {
			a.follow(u, after, lot, from, r)
		}
	}
}

// keyOf returns the key that fields tell, or nil.
func keyOf(m *row.Mapping, fields []row.Field) []byte {
	if len(fields) == 0 {
		return nil
	}
	key, _ := m.Key(fields)
	return key
}

func (a *Auditor) follow(u *proxy.UseCase, key []byte, lot uint64, from proxy.Record, r *event.Record) {
	s := &sample{
		key:    proxy.Key{UseCase: u, Text: key},
		lot:    lot,
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
// now. It follows fewer if there is no room.
func (a *Auditor) takeIn() {
	if len(a.inbox) == maxInbox {
		a.thin()
	}
	for {
		select {
		case s := <-a.inbox:
			if s.lot >= a.share.below.Load() {
				continue // chosen before fewer were
			}
			s.stands = a.share.stands
			if s.since <= 0 || s.since > a.now {
				s.since = a.now
			}
			a.pending.add(s)
			if len(a.pending) > maxPending {
				a.thin()
			}
		default:
			return
		}
	}
}
