package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errInjected = errors.New("injected")

// memoryLog is a source's log in memory.
type memoryLog struct {
	mu      sync.Mutex
	source  proxy.Identity
	topic   uint64
	changes []Change
	end     uint64
	acked   proxy.Position
	renewed int
	limit   int
	behind  time.Duration // its clock
	fail    func(call string) error
}

func newMemoryLog() *memoryLog {
	return &memoryLog{source: proxy.Identity{System: 7, Timeline: 1}, limit: 100, fail: func(string) error { return nil }}
}

// write commits a change of a row; of all rows, if the row is "".
func (l *memoryLog) write(table, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end++
	c := Change{Position: proxy.Position{Commit: l.end}, Change: event.Change{Table: table, Op: event.SchemaChanged, Commit: proxy.Never}}
	if key != "" {
		c.Op, c.Row, c.Before = event.Touch, []byte(key), []row.Field{{Name: "id", Kind: row.Text, Value: []byte(key)}}
	}
	l.changes = append(l.changes, c)
}

func (l *memoryLog) Poll(ctx context.Context, after proxy.Position) (*Batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fail("poll"); err != nil {
		return nil, err
	}
	b := &Batch{Source: l.source, Topic: l.topic, T: proxy.Time(time.Now().Add(-l.behind).UnixNano()), Through: proxy.Position{Commit: l.end}, End: proxy.Position{Commit: l.end}}
	for _, c := range l.changes {
		if c.Position.Compare(after) <= 0 {
			continue
		}
		if len(b.Changes) == l.limit {
			b.Through, b.T = b.Changes[l.limit-1].Position, proxy.Never
			b.Backlog = int(l.end - b.Through.Commit)
			break
		}
		b.Changes = append(b.Changes, c)
	}
	return b, nil
}

func (l *memoryLog) Ack(ctx context.Context, done Mark) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fail("ack"); err != nil {
		return err
	}
	l.topic, l.acked = done.Topic, done.Through
	for len(l.changes) > 0 && l.changes[0].Position.Compare(done.Through) <= 0 {
		l.changes = l.changes[1:]
	}
	return nil
}

func (l *memoryLog) Renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed++
	l.source.Timeline++
	return nil
}

// memoryTopic is a topic in memory.
type memoryTopic struct {
	mu         sync.Mutex
	partitions [][][]byte
	fail       func(call string, partition int) error // before
	lost       func(partition int) error              // after: the values are there, and the reply is not
}

func newMemoryTopic(partitions int) *memoryTopic {
	return &memoryTopic{
		partitions: make([][][]byte, partitions),
		fail:       func(string, int) error { return nil },
		lost:       func(int) error { return nil },
	}
}

func (t *memoryTopic) Partitions(ctx context.Context) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.partitions), t.fail("partitions", -1)
}

func (t *memoryTopic) Last(ctx context.Context, partition int, wanted func([]byte) bool) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.fail("last", partition); err != nil {
		return nil, err
	}
	for _, value := range slices.Backward(t.partitions[partition]) {
		if wanted(value) {
			return value, nil
		}
	}
	return nil, nil
}

func (t *memoryTopic) Append(ctx context.Context, partition int, values [][]byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.fail("append", partition); err != nil {
		return err
	}
	t.partitions[partition] = append(t.partitions[partition], values...)
	return t.lost(partition)
}

// records decodes a partition.
func (t *memoryTopic) records(tb testing.TB, partition int) []*event.Record {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*event.Record
	for _, v := range t.partitions[partition] {
		r, err := event.Decode(v)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// run starts a relay and returns what stops it.
func run(t *testing.T, log Log, topic Topic) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	r := New(log, topic, slog.New(slog.DiscardHandler), Options{Slot: "s"})
	go func() { done <- r.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	}
}

// shipped lists the changes of a partition in its own stream's order, without
// repeats, and checks that the chain has no hole: what a reader would see.
func shipped(t *testing.T, records []*event.Record) (changes []string, checkpoints []*event.Record) {
	t.Helper()
	var stream uint64
	var mark proxy.Position
	for i, r := range records {
		if r.Stream != stream {
			stream, mark = r.Stream, proxy.Position{}
			if r.Prev.Known() {
				t.Errorf("record %d begins stream %x behind %v", i, r.Stream, r.Prev)
			}
		}
		if r.Prev.Compare(mark) > 0 {
			t.Errorf("record %d: a hole between %v and %v", i, mark, r.Prev)
		}
		if r.Position.Compare(r.Prev) <= 0 {
			t.Errorf("record %d: position %v is not behind %v", i, r.Position, r.Prev)
		}
		if r.Position.Compare(mark) <= 0 {
			continue
		}
		mark = r.Position
		if r.Checkpoint != nil {
			checkpoints = append(checkpoints, r)
			continue
		}
		name := r.Change.Table
		if len(r.Change.Before) > 0 {
			name += ":" + string(r.Change.Before[0].Value)
		}
		changes = append(changes, fmt.Sprintf("%s@%d", name, r.Position.Commit))
	}
	return changes, checkpoints
}
