package doctor

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/cdc/debezium"
	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/kafka"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/doctor/pipeline"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/proxy"
)

// topics looks at the topics, and watches those that are there. The clock may
// be nil.
func (g *gatherer) topics(ctx context.Context, t *timepiece) {
	names := []string{g.reach.Kafka.Topic}
	if g.facts.debezium() {
		names = g.facts.Config.Stream.Debezium.Topics
	}
	g.facts.Topics = make([]Topic, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			opts := g.reach.Kafka
			opts.Topic, opts.Topics = name, nil
			g.facts.Topics[i] = g.topic(ctx, opts, t)
		})
	}
	all.Wait()
}

func (g *gatherer) topic(ctx context.Context, opts kafka.Options, t *timepiece) Topic {
	out := Topic{Name: opts.Topic}
	asked, cancel := impatient(ctx)
	defer cancel()
	out.Facts, out.Err = kafka.Inspect(asked, opts)
	if out.Err == nil && out.Facts.Found && g.options.Watch > 0 {
		out.Stream, out.Err = watch(ctx, opts, g.facts.Config, t, g.options.Watch)
	}
	return out
}

// watch follows a topic for a while.
func watch(ctx context.Context, opts kafka.Options, c *config.Config, t *timepiece, d time.Duration) (*Stream, error) {
	w := &watcher{timepiece: t}
	if c.Stream.Format == "debezium" {
		w.decode = debeziumRecords(c, opts.Topic)
	} else {
		w.decode = ownRecords
	}
	tail, err := kafka.NewTail(opts, w, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- tail.Run(ctx) }()
	if !caughtUp(ctx, tail) {
		d = 0
	}
	start := time.Now()
	pause.For(ctx, d)
	_, waiting := tail.CaughtUp()
	end()
	if err := <-ended; err != nil {
		waiting = err.Error()
	}
	return w.stream(time.Since(start), waiting), nil
}

// caughtUp waits until a tail is, for as long as patience has it.
func caughtUp(ctx context.Context, tail *kafka.Tail) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	for {
		if ok, _ := tail.CaughtUp(); ok {
			return true
		}
		if !pause.For(ctx, 10*time.Millisecond) {
			return false
		}
	}
}

// seen is what one record says that a watcher looks for.
type seen struct {
	checkpoint bool
	t          proxy.Time
	id         *event.StreamID // nil: a change, or a stream without ids
	hash       uint64
}

// watcher is a kafka.Handler that counts.
type watcher struct {
	decode    func(key, value []byte) (seen, error)
	timepiece *timepiece // nil: the clock is not known

	mu      sync.Mutex
	begun   bool
	s       Stream
	begins  []bool          // of each partition: it has not brought a record yet
	writer  []uint64        // of each partition: whose record was the last
	writers map[uint64]bool // that have written meanwhile
	bytes   []int64         // of each partition
	meter   *pipeline.Meter
}

// Lost takes in a gap.
func (w *watcher) Lost(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun {
		w.s.Gap = reason
	}
}

// Attached takes in where the topic is followed from.
func (w *watcher) Attached(partitions int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.s.Partitions = partitions
	w.begins, w.writer, w.bytes = slices.Repeat([]bool{true}, partitions), make([]uint64, partitions), make([]int64, partitions)
	w.writers = map[uint64]bool{}
	w.meter = pipeline.NewMeter(partitions)
	w.begun = true
}

// Record takes in a record. The first of a partition was there before, as a
// rule: it says whose stream that is, and nothing of how late it came.
func (w *watcher) Record(partition int, _ int64, key, value []byte) {
	lo, hi := proxy.Never, proxy.Forever
	if w.timepiece != nil {
		lo, hi = w.timepiece.Bounds()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.decode(key, value)
	if err == nil && r.id != nil {
		id := *r.id
		w.s.Last = &id
	}
	if w.begins[partition] {
		w.begins[partition], w.writer[partition] = false, r.hash
		return
	}
	w.s.Records++
	w.bytes[partition] += int64(len(key) + len(value))
	if err != nil {
		w.s.Undecodable++
		w.s.Reason = err.Error()
		return
	}
	w.count(partition, r, lo, hi)
}

func (w *watcher) count(partition int, r seen, lo, hi proxy.Time) {
	if r.hash != 0 {
		if r.hash != w.writer[partition] && w.writer[partition] != 0 {
			w.s.Turns++
		}
		w.writer[partition] = r.hash
		w.writers[r.hash] = true
	}
	if !r.checkpoint {
		return
	}
	w.s.Checkpoints++
	if r.t > hi {
		w.s.Future++
	}
	w.meter.Checkpoint(partition, r.t, lo)
}

// stream is what was seen.
func (w *watcher) stream(watched time.Duration, waiting string) *Stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.s
	s.Watched, s.Waiting, s.Streams = watched, waiting, len(w.writers)
	if w.meter == nil {
		return &s
	}
	width := time.Duration(0)
	if w.timepiece != nil {
		lo, hi := w.timepiece.Bounds()
		width = hi.Sub(lo)
	}
	s.Bytes = slices.Max(append(w.bytes, 0))
	s.Silent, s.Samples, s.Median, s.Pipeline = w.meter.Silent(), w.meter.Samples(), w.meter.Median(), w.meter.Pipeline(width)
	return &s
}

// ownRecords reads the records of a relay.
func ownRecords(_, value []byte) (seen, error) {
	r, err := event.Decode(value)
	if err != nil {
		return seen{}, err
	}
	s := seen{hash: r.Stream}
	if r.Checkpoint != nil {
		s.checkpoint, s.t, s.id = true, r.Checkpoint.T, &r.Checkpoint.Stream
	}
	return s, nil
}

// debeziumRecords reads those of a connector, as far as checkpoints go.
func debeziumRecords(c *config.Config, topic string) func(key, value []byte) (seen, error) {
	o := &c.Stream.Debezium
	d := debezium.NewDecoder(debezium.Options{CheckpointTable: o.CheckpointTable, Unavailable: o.Unavailable})
	begun := false
	return func(key, value []byte) (seen, error) {
		if begun = begun || len(value) > 0; !begun {
			return seen{}, nil // the tombstone of a delete that came before
		}
		m, err := d.Decode(topic, key, value)
		if err != nil || m.Mark == nil {
			return seen{}, err
		}
		return seen{checkpoint: true, t: m.Mark.T}, nil
	}
}
