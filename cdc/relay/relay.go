package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

// Log is a source's log of changes.
type Log interface {
	// Poll returns the changes behind a position, in order: some of them, or
	// none. The zero position asks for all that were never acknowledged. The
	// first Ack after it says how the topic ends.
	Poll(ctx context.Context, after proxy.Position) (*Batch, error)
	// Ack says what Kafka has and the log need not keep. It may be slow to
	// forget.
	Ack(ctx context.Context, done Mark) error
	// Renew makes what follows a history of its own, with an identity of its
	// own: the log was found to be older than what Kafka has.
	Renew(ctx context.Context) error
}

// Topic is where the changes go.
type Topic interface {
	Partitions(ctx context.Context) (int, error)
	// Last returns the last record of a partition that is wanted, nil if it
	// has none.
	Last(ctx context.Context, partition int, wanted func(value []byte) bool) ([]byte, error)
	// Append returns once every in-sync replica has the values, in order.
	// After an error some of them may be there.
	Append(ctx context.Context, partition int, values [][]byte) error
}

// Batch is what one poll found.
type Batch struct {
	Source  proxy.Identity // whose history it is
	Topic   uint64         // of the last Mark; zero if there was none, or the log keeps none
	Begin   proxy.Position // the log may have forgotten what lies here or before; zero: nothing that was not acknowledged
	Changes []Change
	Through proxy.Position // every change up to here is in this batch or before it
	T       proxy.Time     // so is every change that was visible at T; Never if no such time is known
	State   []byte         // to be kept in the checkpoint of T; nil: nothing
	End     proxy.Position // of the newest change there ever was
	Backlog int            // changes that are there and not in this batch, about
}

// Change is one change on its way.
type Change struct {
	event.Change
	Position proxy.Position
	Row      []byte // what tells the row from others of its table; nil: the change is of all rows
}

// Mark is how far a stream has come.
type Mark struct {
	Topic   uint64         // incarnation of the topic that the stream goes to
	Through proxy.Position // what is acknowledged; zero when a session begins
	State   []byte         // when a session begins: what the newest checkpoints of all partitions agree on; nil if they do not, or another stream begins
}

// Options of a relay.
type Options struct {
	Slot               string        // part of the stream id: the name of the slot or outbox
	CheckpointInterval time.Duration // least time between two checkpoints; 0: 100 ms
	PollInterval       time.Duration // between two looks at a log that showed nothing new; 0: 2 ms
	AppendTimeout      time.Duration // after which an append counts as failed, and is tried again; 0: 10 s
}

func (o Options) withDefaults() Options {
	o.CheckpointInterval = cmp.Or(o.CheckpointInterval, 100*time.Millisecond)
	o.PollInterval = cmp.Or(o.PollInterval, 2*time.Millisecond)
	o.AppendTimeout = cmp.Or(o.AppendTimeout, 10*time.Second)
	return o
}

// Relay ships a log to a topic.
type Relay struct {
	log     Log
	topic   Topic
	logger  *slog.Logger
	opts    Options
	nonce   uint64
	metrics *metrics
	problem atomic.Pointer[string] // the last one logged; "" while all is well
}

// New returns a relay that Run sets to work.
func New(log Log, topic Topic, logger *slog.Logger, opts Options) *Relay {
	r := &Relay{log: log, topic: topic, logger: logger, opts: opts.withDefaults(), nonce: draw(), metrics: newMetrics()}
	r.becomes(notBegun)
	return r
}

// notBegun is the problem of a relay that has neither shipped nor failed.
const notBegun = "the relay has not begun to ship"

// Problem says what keeps the relay from shipping, or nothing. It may be
// called at any time.
func (r *Relay) Problem() string { return *r.problem.Load() }

func (r *Relay) becomes(problem string) { r.problem.Store(&problem) }

// draw returns a random number other than zero.
func draw() uint64 {
	var b [8]byte
	for {
		_, _ = rand.Read(b[:]) // never fails
		if n := binary.BigEndian.Uint64(b[:]); n != 0 {
			return n
		}
	}
}

// The waits between two tries after an error.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// Run ships changes until ctx ends, which is the only error it returns. An
// error of the log or the topic ends a session, and the next one begins where
// the topic's own last records say.
func (r *Relay) Run(ctx context.Context) error {
	pause := firstPause
	for {
		err := r.session(ctx, func() { pause = firstPause })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errNewStream) {
			r.logger.Info("the stream begins anew", "reason", err)
			continue
		}
		r.failed(err)
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
		pause = min(2*pause, lastPause)
	}
}

// failed counts every error and logs each kind once.
func (r *Relay) failed(err error) {
	r.metrics.errors.Inc()
	if text := err.Error(); text != r.Problem() {
		r.becomes(text)
		r.logger.Warn("the relay waits", "error", err)
	}
}

func (r *Relay) succeeded() {
	was := r.Problem()
	if was == "" {
		return
	}
	r.becomes("")
	if was != notBegun {
		r.logger.Info("the relay goes on")
	}
}

// sleep reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
