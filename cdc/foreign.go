package cdc

import (
	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// foreign is what a partition knows of a stream that others ship. Its records
// have no position: the checkpoints are rows of a table, and tell how they
// follow each other; changes tell nothing.
type foreign struct {
	had     bool             // records have come, of this log or of one before it
	rows    map[int64]uint64 // the highest seq of each row since attach
	hole    proxy.Time       // T of the checkpoint that showed the last hole
	again   bool             // since the last new checkpoint, records have come again
	suspect bool             // a change after the last checkpoint is older than it should be
}

// Change applies a change of a stream that others ship, visible by now, to the
// keys that it touches: it drops them. Without a position nobody can say whether
// what it left behind is newer than what is cached, nor whether it came before.
// What holds for [Applier.Record] holds here, and for the two below.
func (a *Applier) Change(partition int, offset int64, c *event.Change, value []byte) {
	p := a.begin(partition, offset)
	defer p.publish(offset)
	r := &event.Record{Stream: p.stream, Change: c}
	a.show(p, r)
	if hook.Mutant(hook.DropEvents) && offset%1000 == 999 {
		return
	}
	a.suspect(p, c)
	a.metrics.change(c.Op, changeApplied)
	if c.Op > event.SchemaChanged {
		a.keep(p, offset, value, c.Table, "operation is not known")
	}
	a.drop(p, r)
}

// CheckpointRow takes in a checkpoint of a stream that others ship. That a row
// comes again is how a re-sending is known, and a seq that is left out is how a
// hole is.
func (a *Applier) CheckpointRow(partition int, offset int64, c *event.CheckpointRow) {
	p := a.begin(partition, offset)
	defer p.publish(offset)
	if c.Altered {
		a.metrics.change(event.SchemaChanged, changeApplied)
		for _, u := range a.catalog.All() {
			a.voidSchema(u)
		}
	}
	r := &event.Record{Stream: c.Stream.Hash(), Checkpoint: &c.Checkpoint}
	if r.Stream != p.stream && !a.enter(p, r) {
		a.applyOlder(p, r)
		return
	}
	last, known := p.foreign.rows[c.Row]
	if known && c.Seq <= last {
		a.comesAgain(p)
		a.metrics.checkpoint(checkpointRepeat)
		return
	}
	// What other rows of one heartbeat miss lies in front of the first of them.
	if known && c.Seq > last+1 && c.T != p.foreign.hole && !hook.Mutant(hook.HolesIgnored) {
		a.gap(gapHole, a.wm.fall)
		p.foreign.hole = c.T
	}
	p.foreign.rows[c.Row] = c.Seq
	a.comesNew(p)
	a.metrics.checkpoint(a.believe(p, r))
}

// Anew takes in that who ships the stream has read all tables anew. That is what
// it does when it has lost its place in the log, and of the changes in between
// some are in no row: deletions. The rows of checkpoints need not have a hole, as
// they are written by who was away.
func (a *Applier) Anew(partition int, offset int64) {
	p := a.begin(partition, offset)
	defer p.publish(offset)
	a.gap(gapHole, a.wm.fall)
}

// Undecodable makes void what a record that cannot be read may have changed:
// its table, or everything.
func (a *Applier) Undecodable(partition int, offset int64, table, reason string, value []byte) {
	p := a.begin(partition, offset)
	defer p.publish(offset)
	a.unreadable(p, offset, table, reason, value)
}

// begin finds what every record of a stream that others ship may show: that
// the log was made anew. One in which records were begins at no zero.
func (a *Applier) begin(partition int, offset int64) *partition {
	p := (*a.parts.Load())[partition]
	p.record = proxy.Record{Partition: partition, Offset: offset}
	if offset == 0 && p.foreign.had {
		clear(p.foreign.rows)
		a.gap(gapHole, a.wm.fall)
	}
	p.foreign.had = true
	return p
}

// suspect is doubt about a change of which nobody knows whether it comes again.
// A connector that was started again sends what it had sent before, and that is
// no lie. So the watermark holds, and the next checkpoint says what it was:
//
//  1. a checkpoint of T is believed
//  2. a change comes whose commit is older: was T a lie, or does it come again?
//  3. a checkpoint that came before comes: all since then is a re-sending
//     or a new one comes: T was a lie
//
// Until the next new checkpoint a re-sending goes on.
func (a *Applier) suspect(p *partition, c *event.Change) {
	if p.foreign.again || p.foreign.suspect || !a.doubtful(p, c) {
		return
	}
	p.foreign.suspect = true
	a.wm.hold()
}

// comesAgain takes in that a checkpoint came before.
func (a *Applier) comesAgain(p *partition) {
	p.foreign.again = true
	a.acquit(p)
}

// comesNew takes in that a checkpoint did not come before: what is suspect
// since the last one was a lie.
func (a *Applier) comesNew(p *partition) {
	p.foreign.again = false
	if p.foreign.suspect {
		a.metrics.lies.Inc()
		a.distrust(p)
	}
	a.acquit(p)
}

// acquit ends a suspicion.
func (a *Applier) acquit(p *partition) {
	if p.foreign.suspect {
		a.wm.trust()
	}
	p.foreign.suspect = false
}
