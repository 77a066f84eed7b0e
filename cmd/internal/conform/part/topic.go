package part

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/relay"
)

// replayed is how many of a partition's last records are kept to be appended
// again.
const replayed = 10_000

// badTopic stands between a relay and its topic, record by record.
type badTopic struct {
	relay.Topic

	mu    sync.Mutex
	delay time.Duration
	twice bool
	lost  int           // partition that gets no checkpoints, and 1; 0: none
	holes bool          // one in ten changes is lost
	ahead time.Duration // what is added to the time of checkpoints
	last  map[int][][]byte
}

func (b *badTopic) over(t relay.Topic) relay.Topic {
	b.Topic, b.last = t, map[int][][]byte{}
	return b
}

func (b *badTopic) orders() map[string]order {
	set := func(f func(n int64)) order {
		return func(_ context.Context, n int64) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			f(n)
			return nil
		}
	}
	return map[string]order{
		"delay":  set(func(n int64) { b.delay = time.Duration(n) }),
		"twice":  set(func(n int64) { b.twice = n != 0 }),
		"lose":   set(func(n int64) { b.lost = int(n) }),
		"holes":  set(func(n int64) { b.holes = n != 0 }),
		"ahead":  set(func(n int64) { b.ahead = time.Duration(n) }),
		"replay": func(ctx context.Context, _ int64) error { return b.replay(ctx) },
	}
}

// Append implements relay.Topic.
func (b *badTopic) Append(ctx context.Context, partition int, values [][]byte) error {
	b.mu.Lock()
	delay, twice := b.delay, b.twice
	values = b.spoilLocked(partition, values)
	b.mu.Unlock()
	if delay > 0 {
		t := time.NewTimer(delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if len(values) == 0 {
		return nil
	}
	if err := b.Topic.Append(ctx, partition, values); err != nil {
		return err
	}
	b.keep(partition, values)
	if twice {
		return b.Topic.Append(ctx, partition, values)
	}
	return nil
}

// spoilLocked returns what is appended of values.
func (b *badTopic) spoilLocked(partition int, values [][]byte) [][]byte {
	if b.lost != partition+1 && b.ahead == 0 && !b.holes {
		return values
	}
	var out [][]byte
	for _, v := range values {
		r, err := event.Decode(v)
		switch {
		case err != nil:
		case r.Checkpoint == nil:
			if b.holes && r.Position.Commit%10 == 0 {
				continue
			}
		case b.lost == partition+1:
			continue
		default:
			r.Checkpoint.T = r.Checkpoint.T.Add(b.ahead)
			v = event.Append(nil, r)
		}
		out = append(out, v)
	}
	return out
}

func (b *badTopic) keep(partition int, values [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, v := range values {
		b.last[partition] = append(b.last[partition], bytes.Clone(v))
	}
	if n := len(b.last[partition]); n > 2*replayed {
		b.last[partition] = append([][]byte(nil), b.last[partition][n-replayed:]...)
	}
}

// replay appends the last records of every partition again, behind whatever is
// there by now.
func (b *badTopic) replay(ctx context.Context) error {
	b.mu.Lock()
	again := map[int][][]byte{}
	for p, values := range b.last {
		again[p] = values[max(0, len(values)-replayed):]
	}
	b.mu.Unlock()
	for p, values := range again {
		if err := b.Topic.Append(ctx, p, values); err != nil {
			return err
		}
	}
	return nil
}
