package debezium

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/gate"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Applier is what a Stream drives, from one goroutine.
type Applier interface {
	Change(partition int, offset int64, c *event.Change, value []byte)
	CheckpointRow(partition int, offset int64, c *event.CheckpointRow)
	Anew(partition int, offset int64)
	Undecodable(partition int, offset int64, table, reason string, value []byte)
	Attachment
}

// Attachment hears whether the position in the topics is known.
type Attachment interface {
	Lost(reason string)
	Attached(partitions int)
}

// Primary is asked what is visible.
type Primary interface {
	// Snapshot takes one, as pg_current_snapshot() writes it.
	Snapshot(ctx context.Context) (of proxy.Identity, snapshot string, err error)
	// Horizon returns a number above those of all transactions so far.
	Horizon(ctx context.Context) (of proxy.Identity, horizon uint64, err error)
	// Fingerprint reads the catalog.
	Fingerprint(ctx context.Context) (string, error)
}

// StreamOptions say how a connector's topics are followed.
type StreamOptions struct {
	Decoder Options
	// Covers is how the fingerprints begin that cover the mapped tables. Others
	// do not count, and the catalog is read instead. Empty: any counts.
	Covers string
	// Where tells of which topic a partition is, and its number there.
	Where func(partition int) (topic string, number int)
	// MaxHeld and MaxHeldBytes bound what waits to be visible; beyond, the topics
	// wait. 0: 65,536 records, 64 MiB.
	MaxHeld, MaxHeldBytes int
}

// inbound is how many records may wait to be decoded: enough to be judged by
// one snapshot together.
const inbound = 256

// Stream holds back what a connector ships until it can be read, and drives an
// Applier with it. It is what follows the topics (kafka.Handler): its methods
// may be called as that says; Run once.
type Stream struct {
	primary Primary // nil: there is none to ask
	applier Applier
	opts    StreamOptions
	decoder *Decoder
	barrier *Barrier
	log     *slog.Logger
	metrics *metrics

	in   chan *item
	done chan struct{} // closed when Run has returned

	// What follows is Run's alone.
	gates  []*gate.Gate[*item] // of each partition
	held   int                 // records in them
	size   int                 // their bytes
	unread bool                // for some of them the catalog is still to be read
	look   look
	schema schema
	begun  time.Time

	status atomic.Pointer[status]
}

// item is one record, or what became of the position.
type item struct {
	partition int
	offset    int64
	topic     string
	number    int // in its topic
	key       []byte
	value     []byte
	arrived   time.Time

	lost     string // if set, or attached: it is no record
	attached int

	tx     uint64
	change *event.Change
	mark   *Mark
	anew   bool
	broken *DecodeError
}

// silent reports whether nothing is wanted of a record.
func (it *item) silent() bool {
	return it.change == nil && it.mark == nil && it.broken == nil && !it.anew
}

// NewStream returns a stream that Run sets to work. The barrier stands in front
// of the source that fills what the applier drives. primary is nil where nobody
// can be asked, and the barrier has a lag then.
func NewStream(primary Primary, barrier *Barrier, applier Applier, o StreamOptions, log *slog.Logger) *Stream {
	o.MaxHeld, o.MaxHeldBytes = cmp.Or(o.MaxHeld, 1<<16), cmp.Or(o.MaxHeldBytes, 64<<20)
	s := &Stream{
		primary: primary, applier: applier, opts: o, log: log,
		decoder: NewDecoder(o.Decoder), barrier: barrier,
		in: make(chan *item, inbound), done: make(chan struct{}),
		schema: schema{covers: o.Covers}, begun: time.Now(),
	}
	s.decoder.ungated = primary == nil
	s.status.Store(&status{})
	s.metrics = newMetrics(s)
	return s
}

// Lost implements kafka.Handler. It is applied in its turn: what came before it
// was followed without a gap.
func (s *Stream) Lost(reason string) { s.put(&item{lost: reason}) }

// Attached implements kafka.Handler.
func (s *Stream) Attached(partitions int) { s.put(&item{attached: partitions}) }

// Record implements kafka.Handler. It waits while too much is held.
func (s *Stream) Record(partition int, offset int64, key, value []byte) {
	it := &item{partition: partition, offset: offset, key: bytes.Clone(key), value: bytes.Clone(value), arrived: time.Now()}
	it.topic, it.number = s.opts.Where(partition)
	s.put(it)
}

// put gives up when Run has ended: nothing is applied any more.
func (s *Stream) put(it *item) {
	select {
	case s.in <- it:
	case <-s.done:
	}
}

// Run applies what comes until ctx ends.
func (s *Stream) Run(ctx context.Context) error {
	defer close(s.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		in := s.in
		if s.full() {
			in = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case it := <-in:
			if err := s.takeAll(it); err != nil {
				return err
			}
		case <-s.barrier.raised:
		case <-timer.C:
		}
		if wait, waits := s.step(ctx); waits {
			timer.Reset(wait)
		}
	}
}

func (s *Stream) full() bool { return s.held >= s.opts.MaxHeld || s.size >= s.opts.MaxHeldBytes }

// takeAll takes an item and those that have come with it.
func (s *Stream) takeAll(it *item) error {
	for {
		if err := s.take(it); err != nil {
			return err
		}
		if s.full() {
			return nil
		}
		select {
		case it = <-s.in:
		default:
			return nil
		}
	}
}

func (s *Stream) take(it *item) error {
	switch {
	case it.lost != "":
		s.attach(0)
		s.applier.Lost(it.lost)
	case it.attached > 0:
		s.attach(it.attached)
		s.applier.Attached(it.attached)
	case it.partition < len(s.gates):
		return s.hold(it)
	}
	return nil
}

// attach lets go of what is held: it lies before the position, and what of it
// becomes visible later the barrier is for.
func (s *Stream) attach(partitions int) {
	s.gates = make([]*gate.Gate[*item], partitions)
	for i := range s.gates {
		s.gates[i] = gate.New[*item](gate.Node, s.opts.MaxHeld+inbound)
	}
	s.held, s.size, s.unread = 0, 0, false
	s.schema.forget()
}

// hold decodes a record and puts it behind those of its partition. A record of
// which nothing is wanted is held like the others: its offset counts.
func (s *Stream) hold(it *item) error {
	s.decode(it)
	if it.silent() {
		s.metrics.records[recordOther].Inc()
		return nil
	}
	if err := s.gates[it.partition].Add(s.gateOf(it), it); err != nil {
		return fmt.Errorf("hold a record back: %w", err)
	}
	s.held++
	s.size += it.size()
	s.unread = s.unread || it.mark != nil && s.reads(it.mark)
	return nil
}

// reads reports whether the catalog has to be read for a checkpoint, as its row
// does not say enough of it.
func (s *Stream) reads(m *Mark) bool { return s.primary != nil && !s.schema.usable(m) }

func (it *item) size() int { return len(it.key) + len(it.value) + 256 }

// gateOf is what an item waits for: its transaction, or where that cannot be
// asked for, the time since it came. A checkpoint waits for those before it.
func (s *Stream) gateOf(it *item) uint64 {
	switch {
	case it.mark != nil:
		return 0
	case s.primary == nil:
		return uint64(it.arrived.Sub(s.begun)) + 1 // 0 would be no wait at all
	}
	return it.tx
}

// decode finds out what a record says, and copies what the decoder will use
// again.
func (s *Stream) decode(it *item) {
	m, err := s.decoder.Decode(it.topic, it.key, it.value)
	switch {
	case err != nil:
		it.broken = &DecodeError{Reason: err.Error()}
		errors.As(err, &it.broken)
		it.tx = it.broken.Tx
	case m.Change != nil:
		c := *m.Change
		c.Before, c.After = cloneFields(c.Before), cloneFields(c.After)
		it.change, it.tx = &c, m.Tx
	case m.Mark != nil:
		mark := *m.Mark
		it.mark = &mark
	default:
		it.anew = m.Anew
	}
}

func cloneFields(fields []row.Field) []row.Field {
	out := slices.Clone(fields)
	for i := range out {
		out[i].Value = bytes.Clone(out[i].Value)
	}
	return out
}

// apply applies what may be applied.
func (s *Stream) apply(it *item) {
	s.held--
	s.size -= it.size()
	s.metrics.waits.Observe(time.Since(it.arrived).Seconds())
	switch {
	case it.change != nil:
		s.metrics.records[recordChange].Inc()
		if it.change.Op == event.SchemaChanged {
			s.barrier.Raise() // a snapshot sees what is committed, and readers may not yet
		}
		s.applier.Change(it.partition, it.offset, it.change, it.value)
	case it.mark != nil:
		s.metrics.records[recordCheckpoint].Inc()
		s.checkpoint(it)
	case it.anew:
		s.metrics.records[recordCheckpoint].Inc()
		s.applier.Anew(it.partition, it.offset)
	default:
		s.metrics.records[recordUndecodable].Inc()
		s.undecodable(it)
	}
}

// checkpoint applies a row. The partitions are those that are followed: their
// count is a part of what a stream is. Where the catalog is another one, a table
// may have come to be shipped, and what transactions had written to it before
// that are not shipped, whenever they commit.
func (s *Stream) checkpoint(it *item) {
	m := it.mark
	altered := s.schema.changed(m, s.reads(m))
	if altered {
		s.barrier.Raise()
	}
	s.applier.CheckpointRow(it.partition, it.offset, &event.CheckpointRow{
		Row: m.Row, Seq: m.Seq, Altered: altered,
		Checkpoint: event.Checkpoint{T: m.T, Stream: event.StreamID{Source: m.Source, Slot: m.Slot, Partitions: len(s.gates)}},
	})
}

// undecodable makes void what a record may have been about. If nobody knows
// its transaction, that may not be visible yet.
func (s *Stream) undecodable(it *item) {
	e := it.broken
	if s.primary != nil && e.Tx == 0 {
		s.barrier.Raise()
	}
	reason := fmt.Sprintf("topic %s, partition %d: %s", it.topic, it.number, e.Reason)
	if e.Mend != "" {
		reason += ": " + e.Mend
	}
	s.applier.Undecodable(it.partition, it.offset, e.Table, reason, it.value)
}
