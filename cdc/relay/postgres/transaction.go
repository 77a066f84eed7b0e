package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// catalog describes tables as they are now.
type catalog interface {
	// describe returns nil, and no error, if there is no such table any more.
	describe(ctx context.Context, t *table) (*description, error)
}

// assembler makes messages changes. It is told every message of the log, in
// order, from the begin of a transaction on.
//
// A position is the place of the commit record, and in the transaction the
// number of the row, with what one row makes counted below it. It is part of
// the format: the same row has the same position each time the log is read, by
// whichever relay, whatever else it is told.
type assembler struct {
	tables   []*table
	keysOnly bool
	nonce    uint64 // of the session's own checkpoints
	catalog  catalog
	logger   *slog.Logger
	metrics  *metrics

	began     fingerprint                 // of the catalog when the session began,
	shapes    map[*table][]relationColumn // and the columns it had then
	known     map[*table][]relationColumn // the columns that readers know of
	relations map[uint32]*follower        // nil: not mapped
	announced fingerprint                 // what readers know of

	tx        begin
	row, part uint64          // of the position
	open      bool            // inside a transaction
	voided    map[*table]bool // by this transaction
	batch     *relay.Batch    // what is being filled
	mine      int             // changes in it before this transaction

	through proxy.Position
	t       proxy.Time // of the last checkpoint handed out; Never: none
	state   []byte     // with it
	checks  int        // checkpoints of this session that came back
}

// partBits is how many bits of a position count what one row makes.
const partBits = 16

// start begins a batch.
func (a *assembler) start(b *relay.Batch) {
	a.batch, a.mine = b, 0
}

// finish ends a batch. In the middle of a transaction no time is known: a
// checkpoint needs a position that no change will have. Nor is it known which
// changes are the last of their rows.
func (a *assembler) finish() {
	a.batch.Through, a.batch.T = a.through, proxy.Never
	if !a.open {
		a.batch.T, a.batch.State = a.t, a.state
		return
	}
	for i := a.mine; i < len(a.batch.Changes); i++ {
		a.batch.Changes[i].Last = false
	}
}

// add takes the next message. What cannot be placed in a transaction is an
// error: it has no position.
func (a *assembler) add(ctx context.Context, raw []byte) error {
	m, err := decode(raw)
	switch m := m.(type) {
	case *begin:
		a.begin(m)
		return nil
	case *logical:
		a.message(m)
		return nil
	}
	switch {
	case !a.open:
		return fmt.Errorf("the log has a message of %d bytes outside of a transaction", len(raw))
	case err != nil:
		return a.undecodable(raw, err)
	}
	switch m := m.(type) {
	case *relation:
		return a.relation(ctx, m)
	case *rowChange:
		a.change(m)
	case *truncation:
		a.truncate(m)
	case nil:
		switch raw[0] {
		case kindCommit:
			a.commit()
		case kindOrigin:
			// It came here by replication, and the log has the time of its
			// commit there, by a clock that says nothing of this one.
			a.tx.time = proxy.Never
		}
	}
	return nil
}

func (a *assembler) begin(m *begin) {
	a.tx, a.row, a.part, a.open = *m, 0, 0, true
	a.mine = len(a.batch.Changes)
	clear(a.voided)
	a.pass()
}

// pass says that all up to here is in the batch.
func (a *assembler) pass() {
	a.through = proxy.Position{Commit: a.tx.commit, Seq: a.row<<partBits | (1<<partBits - 1)}
}

// commit ends a transaction. What is in the batch of it goes up to its end, so
// the last change of a row in there is the last in the transaction.
func (a *assembler) commit() {
	a.open = false
	changes := a.batch.Changes[a.mine:]
	var later map[string]bool
	for i := len(changes) - 1; i >= 0; i-- {
		c := &changes[i]
		if c.Row == nil {
			continue
		}
		row := c.Table + "\x00" + string(c.Row)
		c.Last = c.Last && !later[row]
		if later == nil {
			later = map[string]bool{}
		}
		later[row] = true
	}
}

func (a *assembler) emit(c relay.Change) {
	c.Position = proxy.Position{Commit: a.tx.commit, Seq: a.row<<partBits | a.part}
	c.Tx, c.Commit = uint64(a.tx.xid), a.tx.time
	a.part++
	a.batch.Changes = append(a.batch.Changes, c)
}

// next begins the next row's positions.
func (a *assembler) next() {
	a.row++
	a.part = 0
	a.pass()
}

// void says that any row of a table may have changed. All changes of a
// transaction become visible at once, so once in each is enough.
func (a *assembler) void(t *table) {
	if a.voided == nil {
		a.voided = map[*table]bool{}
	}
	if !a.voided[t] {
		a.voided[t] = true
		a.emit(relay.Change{Change: event.Change{Table: t.name.String(), Op: event.SchemaChanged}})
	}
}

// relation takes down what the columns of the rows behind it are. If readers
// know of others, they are told before the first of these rows comes.
func (a *assembler) relation(ctx context.Context, m *relation) error {
	t := a.mapped(m)
	if t == nil {
		a.relations[m.id] = nil
		return nil
	}
	d, err := a.catalog.describe(ctx, t)
	if err != nil {
		return err
	}
	a.relations[m.id] = follow(m, t, d)
	if known := a.known[t]; known == nil || !sameShape(known, m.columns) {
		a.known[t] = m.columns
		a.void(t)
	}
	return nil
}

func (a *assembler) mapped(m *relation) *table {
	for _, t := range a.tables {
		if t.name.Schema == m.schema && t.name.Table == m.table {
			return t
		}
	}
	return nil
}

func (a *assembler) change(m *rowChange) {
	a.next()
	f, ok := a.relations[m.relation]
	switch {
	case !ok:
		a.confused("a row of a table that was not described")
	case f == nil: // published, but not mapped
	default:
		changes, told := f.changes(m, a.keysOnly)
		if !told {
			a.metrics.keyless.Inc()
			a.void(f.table)
			return
		}
		for _, c := range changes {
			c.Last = f.refills && f.exact
			a.emit(c)
		}
	}
}

func (a *assembler) truncate(m *truncation) {
	for _, id := range m.relations {
		a.next()
		f, ok := a.relations[id]
		switch {
		case !ok:
			a.confused("a table was truncated that was not described")
		case f != nil:
			a.emit(relay.Change{Change: event.Change{Table: f.table.name.String(), Op: event.Truncate}})
		}
	}
}

// undecodable takes a message that makes no sense: nobody knows what it said.
func (a *assembler) undecodable(raw []byte, err error) error {
	var kind byte
	if len(raw) > 0 {
		kind = raw[0]
	}
	a.metrics.undecodable.Inc()
	a.logger.Warn("a message of the log cannot be decoded", "error", err, "kind", string(rune(kind)), "bytes", len(raw))
	switch kind {
	case kindBegin, kindCommit:
		return fmt.Errorf("the begin or end of a transaction cannot be decoded: %w", err)
	case kindInsert, kindUpdate, kindDelete:
		a.next()
		if f := a.relations[relationOf(raw)]; f != nil {
			a.void(f.table)
			return nil
		}
	case kindTruncate:
		a.next()
	}
	a.voidAll()
	return nil
}

// confused takes a message that cannot be where it is.
func (a *assembler) confused(what string) {
	a.metrics.undecodable.Inc()
	a.logger.Warn("the log makes no sense: every mapped table counts as changed", "reason", what)
	a.voidAll()
}

func (a *assembler) voidAll() {
	for _, t := range a.tables {
		a.void(t)
	}
}

// message takes a checkpoint of this session's. Those of others prove nothing.
func (a *assembler) message(m *logical) {
	if m.prefix != prefix {
		return
	}
	c, ours := parseCheckpoint(m.content, a.nonce, len(a.tables))
	if !ours || !m.transactional {
		a.metrics.foreign.Inc()
		return
	}
	a.checks++
	if hook.Mutant(hook.CheckpointNow) {
		c.t = proxy.Time(time.Now().UnixNano())
	}
	a.announce(c.fingerprint)
	a.t, a.state = c.t, c.fingerprint.state(a.tables)
}

// announce says what in the catalog is not as readers know it.
func (a *assembler) announce(f fingerprint) {
	fresh := a.announced.tables == nil
	for i, t := range a.tables {
		if (fresh || f.tables[i] != a.announced.tables[i]) && !hook.Mutant(hook.FingerprintUnread) {
			a.next()
			a.void(t)
			if f.tables[i] == a.began.tables[i] {
				a.known[t] = a.shapes[t]
			}
		}
	}
	a.announced = f
}
