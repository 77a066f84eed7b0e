package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/proxy/hook"
)

// Handler is what a Tail drives.
//
// Lost and Attached are never called while Record runs. Record is called in
// offset order for each partition, and concurrently for partitions that have
// different leaders; key and value are its own during the call only, and nil
// where the record has none.
type Handler interface {
	// Lost says that changes may have been missed: nothing known so far is
	// fresh any longer. reason is one of a few words that doc.go explains.
	Lost(reason string)
	// Attached says that the position in each of that many partitions is
	// established: every record appended from now on will come, and before
	// them the last one that was there already. It tells what the next record
	// follows, so that a log which is another one by then is noticed.
	Attached(partitions int)
	// Record hands over one committed record.
	Record(partition int, offset int64, key, value []byte)
}

// Tail follows every partition of one topic, or of several as one. Its methods may be called
// concurrently; Run once.
type Tail struct {
	client  *client
	handler Handler
	log     *slog.Logger
	metrics *metrics
	news    news

	mu      sync.Mutex
	parts   []*partition // nil: not attached
	waiting string       // why not
	layout  layout       // as of the last attach
}

// NewTail reads the certificates that opts names, and nothing else.
func NewTail(opts Options, handler Handler, log *slog.Logger) (*Tail, error) {
	c, err := newClient(opts)
	if err != nil {
		return nil, err
	}
	topics := strings.Join(c.opts.topics(), ",")
	t := &Tail{client: c, handler: handler, waiting: "not started", log: log.With("topic", topics)}
	t.metrics = newMetrics(topics, t.lag)
	t.news.log = t.log
	return t, nil
}

// Run follows the topic until ctx ends, then returns nil. It waits for Kafka
// and for the topic as long as it takes; an error means that waiting cannot
// help.
func (t *Tail) Run(ctx context.Context) error {
	defer t.client.close()
	reason := started
	for {
		handler := t.handler
		if hook.Mutant(hook.GapSilent) && reason != started {
			handler = deaf{handler}
		}
		t.lose(handler, reason)
		parts, l, err := t.attach(ctx, handler)
		if err != nil {
			return ended(ctx, err)
		}
		err = t.follow(ctx, parts, l)
		var g *gap
		if !errors.As(err, &g) {
			return ended(ctx, err)
		}
		log := t.log
		if g.topic != "" && len(l.topics) > 1 {
			log = log.With("of", g.topic)
		}
		log.Warn("gap in the stream", "reason", g.reason, "partition", g.partition, "expected", g.next, "found", g.found)
		reason = g.reason
	}
}

// ended turns an error that only says that ctx is over into a clean end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lose is the first step of a gap, and of a start: from here on nothing counts
// as fresh.
func (t *Tail) lose(handler Handler, reason string) {
	t.set(nil, "attaching ("+reason+")")
	t.metrics.gap(reason)
	handler.Lost(reason)
}

// attach is the second step: it establishes the position in every partition,
// at the end of its log; and the third: it says so.
func (t *Tail) attach(ctx context.Context, handler Handler) ([]*partition, layout, error) {
	var wait backoff
	for {
		parts, l, err := t.positions(ctx, handler)
		if err == nil {
			t.set(parts, "")
			t.news.attached(len(parts))
			return parts, l, nil
		}
		if ctx.Err() != nil || classify(err) == hopeless {
			return nil, l, err
		}
		t.set(nil, err.Error())
		t.news.waiting(err)
		if !pause(ctx, wait.next()) {
			return nil, l, ctx.Err()
		}
	}
}

func (t *Tail) positions(ctx context.Context, handler Handler) ([]*partition, layout, error) {
	l, err := t.client.layout(ctx)
	if err != nil {
		return nil, l, err
	}
	compacted := t.client.compacted(ctx, &l)
	if hook.Mutant(hook.EpochBeforePosition) {
		handler.Attached(len(l.leaders))
		handler = deaf{handler}
	}
	ends, err := t.client.ends(ctx, endOffset, &l)
	if err != nil {
		return nil, l, err
	}
	starts, err := t.client.ends(ctx, firstOffset, &l)
	if err != nil {
		return nil, l, err
	}
	parts := make([]*partition, len(ends))
	for i, end := range ends {
		// Holes do not matter before the position: what is there is not followed.
		parts[i] = newPartition(i, max(starts[i], end-1), true)
		topic, number := l.place(i)
		parts[i].topic, parts[i].number = topic, int32(number)
	}
	lasts, err := t.lasts(ctx, parts, ends)
	if err != nil {
		return nil, l, err
	}
	for _, p := range parts {
		p.compacted = compacted[p.topic]
	}
	t.spread(l)
	handler.Attached(len(parts))
	for _, l := range lasts {
		if l.there {
			handler.Record(l.partition, l.offset, l.key, l.value)
		}
	}
	return parts, l, nil
}

// lastsAtOnce bounds the fetches for the last records that are under way.
const lastsAtOnce = 16

// last is what a partition ended with when its position was established.
type last struct {
	partition  int
	offset     int64
	key, value []byte
	there      bool
}

// lasts reads the partitions up to those ends, which moves them there, before
// anything is made void. Were it read later, this could happen to a node that
// sleeps for a while:
//
//  1. the position is n; all is void; an entry is filled
//  2. a change comes at n; the topic is made anew, and grows beyond n
//  3. the node wakes, and takes the new log's record at n for the next one
//
// Behind the last record of the old log it is none.
func (t *Tail) lasts(ctx context.Context, parts []*partition, ends []int64) ([]last, error) {
	lasts := make([]last, len(parts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(lastsAtOnce)
	for i, p := range parts {
		group.Go(func() error {
			for p.next < ends[i] {
				if err := t.client.read(ctx, p, func(id int, offset int64, key, value []byte) {
					lasts[i] = last{id, offset, bytes.Clone(key), bytes.Clone(value), true}
				}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return lasts, group.Wait()
}

func (t *Tail) set(parts []*partition, waiting string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts, t.waiting = parts, waiting
}

func (t *Tail) spread(l layout) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.layout = l
}

// deaf is what the mutants put in the handler's place: it hears of no gap.
type deaf struct{ Handler }

func (deaf) Lost(string)  {}
func (deaf) Attached(int) {}

// CaughtUp reports whether what stood in the log at the last attach is read,
// and if not, why: it is once each partition has answered, as the position
// begins at the end.
func (t *Tail) CaughtUp() (bool, string) {
	t.mu.Lock()
	parts, waiting := t.parts, t.waiting
	t.mu.Unlock()
	if parts == nil {
		return false, waiting
	}
	for _, p := range parts {
		if p.position().Answered.IsZero() {
			return false, fmt.Sprintf("%v has not answered yet", p)
		}
	}
	return true, ""
}

// Positions returns how far each partition is followed: nothing while not
// attached.
func (t *Tail) Positions() []Position {
	t.mu.Lock()
	parts := t.parts
	t.mu.Unlock()
	out := make([]Position, len(parts))
	for i, p := range parts {
		out[i] = p.position()
	}
	return out
}

func (t *Tail) lag() float64 {
	var sum int64
	for _, p := range t.Positions() {
		sum += max(0, p.End-p.Next)
	}
	return float64(sum)
}
