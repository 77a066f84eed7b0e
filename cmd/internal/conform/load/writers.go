package load

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
)

// Write changes rows in the database until ctx ends.
func (l *Load) Write(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range l.opts.Writers {
		g.Go(func() error { return l.writer(ctx, l.keys.draw(l.opts.Seed, uint64(i))) })
	}
	return g.Wait()
}

// writer writes on one connection. What it has begun it ends.
func (l *Load) writer(ctx context.Context, d *draw) (err error) {
	whole := context.WithoutCancel(ctx)
	conn, err := l.db.Connect(whole)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	log := l.history.Log()
	for pause.For(ctx, d.around(l.opts.WritePause)) {
		changes, op, undo := l.transaction(d)
		l.lately.add(changes)
		// Who judges a run that goes on knows reads by what was written before.
		if err := errors.Join(l.transact(whole, conn, log, changes, op, undo), log.Flush()); err != nil {
			return err
		}
	}
	return nil
}

// Change carries out changes of the whole table, and writes them down: faults
// make them.
func (l *Load) Change(ctx context.Context, op table.Op) (err error) {
	conn, err := l.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	log := l.history.Log()
	if err := l.transact(ctx, conn, log, []table.Change{{Op: op, Value: l.reserve(1)}}, op.String(), false); err != nil {
		return err
	}
	return log.Flush()
}

func (l *Load) transact(ctx context.Context, conn table.Conn, log *history.Log, changes []table.Change, op string, undo bool) error {
	d, err := conn.Transact(ctx, changes, undo)
	switch {
	case err != nil:
		return err
	case d.Committed:
		return l.committed(log, &d, op)
	case d.Unknown:
		l.postpone(pendingWrite{done: d, op: op})
		return nil
	}
	for _, of := range d.Logged {
		if of.Value == 0 {
			continue
		}
		of.Seq = 0 // it has no place, and another will get it
		w := history.Write{Op: op + ", undone", Begun: d.Acked, Acked: d.Acked, Outcome: history.RolledBack}
		if err := l.record(log, of, w); err != nil {
			return err
		}
	}
	return nil
}

// transaction draws what a writer does next.
func (l *Load) transaction(d *draw) (changes []table.Change, op string, undo bool) {
	switch n := d.IntN(100); {
	case n < 45:
		return l.one(table.Update, d.row())
	case n < 57:
		return l.one(table.Put, d.row())
	case n < 64:
		return l.one(table.Insert, d.row())
	case n < 73:
		return l.one(table.Delete, d.row())
	case n < 80:
		return []table.Change{l.move(d)}, "move", false
	case n < 90:
		return l.several(d), "several", false
	case n < 96:
		return l.several(d), "several", true
	}
	first := l.reserve(uint64(3*l.opts.Keys)) - 1
	return []table.Change{{Op: table.Group, ID: d.IntN(table.Groups), Value: first + 1}}, "group", false
}

func (l *Load) one(op table.Op, id int) ([]table.Change, string, bool) {
	return []table.Change{{Op: op, ID: id, Value: l.reserve(1)}}, op.String(), false
}

func (l *Load) move(d *draw) table.Change {
	from, to := d.row(), d.row()
	if d.IntN(2) == 0 { // a place that is often free
		to = d.n + d.IntN(d.n/10+1)
	}
	return table.Change{Op: table.Move, ID: from, To: to, Value: l.reserve(1)}
}

// several draws a transaction of some rows, some of them more than once.
func (l *Load) several(d *draw) []table.Change {
	var changes []table.Change
	for range 2 + d.IntN(5) {
		c := table.Change{Op: table.Op(d.IntN(int(table.Move))), ID: d.row(), Value: l.reserve(1)}
		switch {
		case len(changes) > 0 && d.IntN(3) == 0:
			c.ID = changes[0].ID
		case d.IntN(8) == 0:
			c = l.move(d)
		}
		changes = append(changes, c)
	}
	return changes
}
