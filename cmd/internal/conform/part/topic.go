package part

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
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
	clock time.Duration // what the source's clock is ahead of this host's
	as    images
	last  map[int][][]byte

	stream   event.StreamID // of the last checkpoint
	through  uint64         // what stands up to here in the log is appended: the last checkpoint said so
	survivor *survivor
	free     chan struct{} // closed: what the relay appends need not wait for the survivor
}

func (b *badTopic) over(t relay.Topic) relay.Topic {
	b.Topic, b.last = t, map[int][][]byte{}
	b.free = make(chan struct{})
	close(b.free)
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
		"clock":  set(func(n int64) { b.clock = time.Duration(n) }),
		"replay": func(ctx context.Context, _ int64) error { return b.replay(ctx) },
		"forge":  func(ctx context.Context, _ int64) error { return b.forge(ctx) },

		"between":    set(func(n int64) { b.as.between = n != 0 }),
		"incomplete": set(func(n int64) { b.as.incomplete = n != 0 }),
		"truncates":  set(func(n int64) { b.as.truncates = n != 0 }),

		"reach":   func(ctx context.Context, n int64) error { return b.reached(ctx, uint64(n)) },
		"survive": func(context.Context, int64) error { b.survive(); return nil },
		"die":     func(context.Context, int64) error { b.die(); return nil },
	}
}

// Append implements relay.Topic.
func (b *badTopic) Append(ctx context.Context, partition int, values [][]byte) error {
	b.mu.Lock()
	free := b.free
	b.mu.Unlock()
	select {
	case <-free:
	case <-ctx.Done():
		return ctx.Err()
	}
	b.mu.Lock()
	delay, twice, between := b.delay, b.twice, b.as.between
	values = b.spoilLocked(partition, values)
	b.mu.Unlock()
	if err := sleep(ctx, delay); err != nil {
		return err
	}
	if between {
		var err error
		if values, err = b.linger(ctx, partition, values); err != nil {
			return err
		}
	}
	if len(values) == 0 {
		return nil
	}
	if err := b.appendAll(ctx, partition, values); err != nil || !twice {
		return err
	}
	return b.Topic.Append(ctx, partition, values)
}

func (b *badTopic) appendAll(ctx context.Context, partition int, values [][]byte) error {
	err := b.Topic.Append(ctx, partition, values)
	if err == nil {
		b.keep(partition, values)
	}
	return err
}

// linger appends up to what nobody may see, lets some time pass, so that readers
// meet it, and returns what is to follow. Once in what is appended together: if
// it took its time behind each one, a relay with much to append would never come
// to its end.
func (b *badTopic) linger(ctx context.Context, partition int, values [][]byte) (rest [][]byte, err error) {
	until, rest := untilBetween(values)
	if len(rest) == 0 {
		return values, nil
	}
	if err := b.appendAll(ctx, partition, until); err != nil {
		return nil, err
	}
	return rest, sleep(ctx, Delta/20)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spoilLocked returns what is appended of values.
func (b *badTopic) spoilLocked(partition int, values [][]byte) [][]byte {
	if b.lost != partition+1 && b.ahead == 0 && b.clock == 0 && !b.holes && !b.as.any() {
		return values
	}
	var out [][]byte
	for _, v := range values {
		r, err := event.Decode(v)
		switch {
		case err != nil:
		case r.Checkpoint == nil && b.holes && r.Position.Commit%10 == 0, r.Checkpoint != nil && b.lost == partition+1:
			continue
		default:
			b.dressLocked(r)
			v = event.Append(nil, r)
		}
		out = append(out, v)
	}
	return out
}

func (b *badTopic) dressLocked(r *event.Record) {
	if r.Checkpoint != nil {
		r.Checkpoint.T = r.Checkpoint.T.Add(b.ahead + b.clock)
		return
	}
	r.Change.Commit = r.Change.Commit.Add(b.clock)
	b.as.change(r)
}

func (b *badTopic) keep(partition int, values [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, v := range values {
		b.last[partition] = append(b.last[partition], bytes.Clone(v))
	}
	if r, err := event.Decode(values[len(values)-1]); err == nil && r.Checkpoint != nil {
		b.stream, b.through = r.Checkpoint.Stream, r.Position.Commit
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

// forge appends to every partition what looks like a checkpoint of a time to
// come, of a stream that nobody ships.
func (b *badTopic) forge(ctx context.Context) error {
	b.mu.Lock()
	stream := b.stream
	b.mu.Unlock()
	stream.Slot = "stranger"
	for p := range stream.Partitions {
		r := &event.Record{Stream: stream.Hash(), Position: proxy.Position{Commit: 1 << 50},
			Checkpoint: &event.Checkpoint{T: proxy.Time(time.Now().Add(Delta / 2).UnixNano()), Stream: stream}}
		if err := b.Topic.Append(ctx, p, [][]byte{event.Append(nil, r)}); err != nil {
			return err
		}
	}
	return nil
}
