package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
	"github.com/freshet-cache/freshet/proxy/source/row"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// Options of the outbox.
type Options struct {
	Path        string        // of the database file, which must exist
	BusyTimeout time.Duration // how long to wait for another client's lock before the relay tries again; 0: 250 ms
	BatchRows   int           // changes a poll returns at most; 0: 1000
	KeepRows    int           // acknowledged changes that may lie in the outbox; 0: 1000
}

func (o Options) withDefaults() Options {
	o.BusyTimeout = cmp.Or(o.BusyTimeout, 250*time.Millisecond)
	o.BatchRows = cmp.Or(o.BatchRows, 1000)
	o.KeepRows = cmp.Or(o.KeepRows, 1000)
	return o
}

// Log is the outbox of one file as a relay.Log.
type Log struct {
	opts   Options
	logger *slog.Logger
	tables []*table // by name
	lock   *os.File

	conn    *sqlite.Conn
	seen    int64 // data_version that the last poll was at
	hasHead bool  // from this run or an earlier one
	head    sqlite.Head
	mark    int64          // of the outbox's row with the head's sequence; 0: not known
	kept    [seenSize]byte // what was last taken down of head and mark
	topic   uint64
	acked   uint64
	polls   []poll
	intact  bool // the catalog was right at head.SchemaVersion
}

// poll is one look at the file: at T, no sequence above high was visible.
type poll struct {
	t    proxy.Time
	high uint64
}

// maxPolls bounds what is remembered of a backlog. Forgetting a poll only
// makes times earlier, so less is promised.
const maxPolls = 1024

// New returns the outbox of the tables that the specs name. It does no I/O.
func New(opts Options, specs []row.Spec, logger *slog.Logger) *Log {
	l := &Log{opts: opts.withDefaults(), logger: logger}
	for _, spec := range specs {
		l.table(spec.Table).use(spec)
	}
	slices.SortFunc(l.tables, func(a, b *table) int { return cmp.Compare(a.name, b.name) })
	return l
}

func (l *Log) table(name string) *table {
	for _, t := range l.tables {
		if t.name == name {
			return t
		}
	}
	t := &table{name: name}
	l.tables = append(l.tables, t)
	return t
}

// Close ends the connection and lets another relay have the outbox.
func (l *Log) Close() error {
	l.disconnect()
	return l.unlock()
}

// connect opens the file, or what now lies under its path.
func (l *Log) connect(ctx context.Context) (err error) {
	if err := l.claim(); err != nil {
		return err
	}
	if l.conn != nil && l.conn.Current() {
		return nil
	}
	l.disconnect()
	if l.conn, err = sqlite.Dial(ctx, l.opts.Path, l.opts.BusyTimeout); err == nil {
		err = l.conn.WAL(ctx)
	}
	if err != nil {
		l.disconnect()
	}
	return err
}

func (l *Log) disconnect() {
	if l.conn != nil {
		l.conn.Close()
	}
	l.conn, l.seen, l.intact = nil, -1, false
}

// errNotIntact: the outbox or a trigger is missing, or is not as it should be
// for the tables as they are.
var errNotIntact = errors.New("the outbox has to be installed")

// Poll reads the source's clock, and after that what the file shows.
func (l *Log) Poll(ctx context.Context, after proxy.Position) (*relay.Batch, error) {
	b, err := l.poll(ctx, after)
	if errors.Is(err, errNotIntact) {
		if err = l.install(ctx); err == nil {
			b, err = l.poll(ctx, after)
		}
	}
	if err != nil {
		l.disconnect()
		return nil, fmt.Errorf("outbox of %s: %w", l.opts.Path, err)
	}
	return b, nil
}

func (l *Log) poll(ctx context.Context, after proxy.Position) (*relay.Batch, error) {
	t := now()
	if err := l.connect(ctx); err != nil { // after t: what was moved over the path by then is seen
		return nil, err
	}
	var version int64 // asked hundreds of times a second, so without the price of watching ctx
	if err := l.conn.Row(context.WithoutCancel(ctx), []any{&version}, "PRAGMA data_version"); err != nil {
		return nil, err
	}
	if version == l.seen && after.Commit >= l.head.Sequence {
		l.remember(t)
		return l.batch(nil, l.head.Sequence), nil
	}
	var b *relay.Batch
	err := l.conn.Snapshot(ctx, func() error {
		if err := l.verify(ctx); err != nil {
			return err
		}
		rows, err := l.read(ctx, after.Commit)
		if err != nil {
			return err
		}
		hook.At("sqlite.read")
		through := l.head.Sequence
		if len(rows) == l.opts.BatchRows {
			through = rows[len(rows)-1].seq
		}
		if hook.Mutant(hook.CheckpointNow) {
			t = now()
		}
		l.remember(t)
		changes, err := l.changes(ctx, rows, through == l.head.Sequence)
		if err != nil {
			return err
		}
		b = l.batch(changes, through)
		return nil
	})
	if err == nil {
		l.seen = version
	}
	return b, err
}

// now is the source's clock: the file is on this host.
func now() proxy.Time { return proxy.Time(time.Now().UnixNano()) }

// verify reads the head of the snapshot and, where that could have changed,
// the catalog.
func (l *Log) verify(ctx context.Context) error {
	head, err := l.conn.Head(ctx)
	if errors.Is(err, sqlite.ErrNotInstalled) {
		return errNotIntact
	}
	if err != nil {
		return err
	}
	if behind, err := l.behind(ctx, head); err != nil {
		return err
	} else if behind {
		return errNotIntact // an older state was put into the file
	}
	changed := (!l.hasHead || head.SchemaVersion != l.head.SchemaVersion) && !hook.Mutant(hook.FingerprintUnread)
	if changed && l.missed(head.SchemaVersion) {
		return errNotIntact
	}
	other := head.Identity != l.head.Identity
	if other {
		l.polls, l.acked = nil, 0 // they were of another history
	}
	if !l.intact || changed || other {
		if err := l.inspect(ctx); err != nil {
			return err
		}
	}
	l.intact = true
	return l.see(ctx, head)
}

// remember takes down that at t no sequence above the head's was visible.
func (l *Log) remember(t proxy.Time) {
	n := len(l.polls)
	if n > 0 && l.polls[n-1].high == l.head.Sequence {
		l.polls[n-1].t = t
		return
	}
	if n == maxPolls {
		l.polls = slices.Delete(l.polls, n-1, n)
	}
	l.polls = append(l.polls, poll{t: t, high: l.head.Sequence})
}

// hidden returns the newest time at which a sequence is known not to have
// been visible. That is the commit time of its change: the trigger stamped it
// before its transaction was committed, nobody knows how long before.
func (l *Log) hidden(seq uint64) proxy.Time {
	t := proxy.Never
	for _, p := range l.polls {
		if p.high < seq {
			t = p.t
		}
	}
	return t
}

func (l *Log) batch(changes []relay.Change, through uint64) *relay.Batch {
	known := l.hidden(through + 1)
	for len(l.polls) > 1 && l.polls[1].high <= through {
		l.polls = l.polls[1:]
	}
	return &relay.Batch{
		Source:  l.head.Identity,
		Topic:   l.topic,
		Changes: changes,
		Through: lastOf(through),
		T:       known,
		End:     lastOf(l.head.Sequence),
		Backlog: int(l.head.Sequence - through),
	}
}

// A row of the outbox makes one change or, where a row moves to another
// primary key, two.
func firstOf(seq uint64) proxy.Position { return proxy.Position{Commit: seq} }
func lastOf(seq uint64) proxy.Position  { return proxy.Position{Commit: seq, Seq: 1} }

// Ack forgets what Kafka has, some rows at a time: each time is a write
// transaction that others wait for. If another client has the file locked,
// the next Ack does it.
//
// The last row stays, or its sequence could be given out again: SQLite's own
// count misses the rows that a statement with OR FAIL has logged.
func (l *Log) Ack(ctx context.Context, done relay.Mark) error {
	if done.Topic == l.topic && done.Through.Commit < l.acked+uint64(l.opts.KeepRows) {
		return nil
	}
	if err := l.connect(ctx); err != nil {
		return err
	}
	err := l.conn.Update(ctx, func() error {
		if _, err := l.conn.Exec(ctx, "UPDATE "+sqlite.StreamTable+" SET topic = ?", int64(done.Topic)); err != nil {
			return err
		}
		_, err := l.conn.Exec(ctx, "DELETE FROM "+sqlite.OutboxTable+" WHERE seq <= ? AND seq < (SELECT max(seq) FROM "+sqlite.OutboxTable+")", int64(done.Through.Commit))
		return err
	})
	switch {
	case err == nil:
		l.topic, l.acked = done.Topic, max(l.acked, done.Through.Commit)
	case done.Topic == l.topic && isBusy(err):
		return nil
	default:
		return fmt.Errorf("outbox of %s: forget what is shipped: %w", l.opts.Path, err)
	}
	return nil
}

func isBusy(err error) bool {
	const busy, locked = 5, 6
	return sqlite.Code(err) == busy || sqlite.Code(err) == locked
}
