package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
)

// pendingWrite is a write that the log has to tell more about.
type pendingWrite struct {
	done table.Done // of a transaction of ours whose commit has no reply

	id    int // of a write through a node: the row
	write history.Write
	lost  bool // its reply is missing
	void  bool // it was refused, or found nothing to delete
	op    string
}

func (l *Load) postpone(p pendingWrite) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, p)
}

// Settle writes down the writes that were postponed. Nothing may be under way
// any more, nor may a node still carry out anything. An error says that the
// log has a line that no write explains: then somebody else wrote into the
// table.
func (l *Load) Settle(ctx context.Context) (err error) {
	conn, err := l.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	logged, err := conn.Since(ctx, 0)
	if err != nil {
		return err
	}
	log := l.history.Log()
	if err := l.settleTransactions(log, logged); err != nil {
		return err
	}
	if err := l.settleThroughNodes(log, logged); err != nil {
		return err
	}
	for _, of := range logged {
		if !l.claimed[of.Seq] {
			return fmt.Errorf("line %d of %s, row %d, number %d: none of this run's writes; leave the table alone while it runs", of.Seq, table.Log, of.ID, of.Value)
		}
	}
	return log.Flush()
}

// settleTransactions looks up whether transactions of ours were committed.
func (l *Load) settleTransactions(log *history.Log, logged []table.Logged) error {
	there := map[table.Logged]bool{}
	for _, of := range logged {
		there[of] = true
	}
	for _, p := range l.pending {
		if len(p.done.Logged) == 0 || !there[p.done.Logged[0]] {
			continue
		}
		p.done.Acked = now()
		if err := l.committed(log, &p.done, p.op); err != nil {
			return err
		}
	}
	return nil
}

// settleThroughNodes looks for the writes through nodes: puts by their number,
// deletes by their row. Where a delete's reply is missing, nobody knows which
// of several made which absence, and each gets the time of all.
func (l *Load) settleThroughNodes(log *history.Log, logged []table.Logged) error {
	puts, deletes := map[uint64]pendingWrite{}, map[int][]pendingWrite{}
	for _, p := range l.pending {
		switch {
		case p.write.Begun == 0: // of ours
		case p.write.Value > 0:
			puts[p.write.Value] = p
		default:
			deletes[p.id] = append(deletes[p.id], p)
		}
	}
	for _, of := range logged {
		if l.claimed[of.Seq] {
			continue
		}
		p, ok := puts[of.Value]
		if of.Value == 0 {
			p, ok = nextDelete(deletes, of.ID)
		}
		if !ok {
			continue
		}
		if p.lost {
			p.write.Acked, p.write.Token = now(), 0
		}
		if err := l.record(log, of, p.write); err != nil {
			return err
		}
		delete(puts, of.Value)
	}
	for _, p := range puts {
		p.write.Outcome = history.RolledBack
		if err := l.record(log, table.Logged{ID: p.id, Value: p.write.Value}, p.write); err != nil {
			return err
		}
	}
	return nil
}

// nextDelete takes the first delete of a row that is left.
func nextDelete(deletes map[int][]pendingWrite, id int) (pendingWrite, bool) {
	all := deletes[id]
	if len(all) == 0 {
		return pendingWrite{}, false
	}
	first := all[0]
	for _, p := range all {
		if p.lost { // it may have come at any time since
			first.lost = true
			first.write.Begun = all[0].write.Begun
			return first, true
		}
	}
	deletes[id] = all[1:]
	return first, true
}
