package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"

	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Log is the log of a database, read through one slot, as a relay.Log. Not for
// concurrent use, but that its metrics may be collected at any time.
type Log struct {
	opts    Options
	tables  []*table
	refused error // what is wrong with the specs
	logger  *slog.Logger
	metrics *metrics
	dial    func(context.Context) (*server, error)

	session *session
	waits   atomic.Pointer[string] // what for, where only others can end it; nil: for nothing
	lost    error                  // why the slot cannot go on; nil: it can
	renewed bool                   // what the topic holds is not to be gone on with
}

// New returns the log of the tables that the specs name. It does no I/O.
func New(opts Options, specs []row.Spec, logger *slog.Logger) *Log {
	l := &Log{opts: opts.withDefaults(), logger: logger, metrics: newMetrics()}
	l.tables, l.refused = tablesOf(specs)
	l.dial = l.connect
	return l
}

// Close ends the connections and lets another relay have the slot.
func (l *Log) Close() error {
	l.disconnect()
	return nil
}

// Waiting says for whom the log waits, however long, while nothing is wrong with
// it; "" if for nobody. It may be called at any time.
func (l *Log) Waiting() string {
	if text := l.waits.Load(); text != nil {
		return *text
	}
	return ""
}

func (l *Log) disconnect() {
	l.waits.Store(nil)
	if l.session != nil {
		l.session.close()
	}
	l.session = nil
}

// Poll returns what is visible of the log behind a position, in order. The
// zero position makes the log be read anew, from what the slot has confirmed.
func (l *Log) Poll(ctx context.Context, after proxy.Position) (*relay.Batch, error) {
	b, err := l.poll(ctx, after)
	if err != nil {
		l.disconnect()
		if errors.Is(err, errLost) { // found out while it was read
			l.lost = err
		}
		return nil, fmt.Errorf("slot %q: %w", l.opts.Slot, err)
	}
	return b, nil
}

func (l *Log) poll(ctx context.Context, after proxy.Position) (*relay.Batch, error) {
	if !after.Known() {
		return l.begin(ctx)
	}
	if l.session == nil || after != l.session.through() {
		return nil, errors.New("the log is not read from there")
	}
	return l.session.poll(ctx)
}

// begin takes the slot and begins to read. What is read is handed out when the
// first Ack has told how the topic ends.
func (l *Log) begin(ctx context.Context) (*relay.Batch, error) {
	if l.refused != nil {
		return nil, l.refused
	}
	if l.session == nil || !l.session.fresh() { // the topic may be away for long, and the log need not be read anew each time
		l.disconnect()
		s, err := l.dial(ctx)
		if err != nil {
			return nil, err
		}
		l.session = newSession(l, s)
	}
	b := l.session.empty()
	b.Begin, b.End = b.Through, proxy.Position{Commit: l.session.server.end}
	if l.renewed { // whatever the topic ends with, it is not the same history
		b.Begin.Commit = math.MaxUint64
	}
	return b, nil
}

// Ack confirms to the database what Kafka has. It is sent along with the next
// message that is read.
func (l *Log) Ack(ctx context.Context, done relay.Mark) error {
	s := l.session
	switch {
	case s == nil:
		return fmt.Errorf("slot %q: it is not held any longer", l.opts.Slot)
	case !done.Through.Known():
		l.renewed = false
		if err := s.resume(ctx, done.State); err != nil {
			return fmt.Errorf("slot %q: %w", l.opts.Slot, err)
		}
	default:
		s.confirmed.Store(confirms(done.Through))
		l.metrics.moved()
	}
	return nil
}

// confirms returns what a slot has to confirm not to send again the
// transactions up to a position: it leaves out those whose commit record
// begins before.
func confirms(through proxy.Position) uint64 { return through.Commit + 1 }

// begins is the position up to which a slot has forgotten.
func begins(confirmed uint64) proxy.Position {
	return proxy.Position{Commit: confirmed - 1, Seq: 1}
}

// Renew makes the next session begin another stream. A database has an
// identity of its own, which its nodes are told by every answer, so the
// topic's incarnation has to make the difference.
func (l *Log) Renew(context.Context) error {
	l.renewed = true
	return nil
}
