package relay

import (
	"context"
	"hash/fnv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// partitionOf places a row: FNV-1a (64 bits, Fowler, Noll and Vo) of the
// table's name, a zero byte and the row's primary key, modulo the count in the
// stream id. All changes of a row are in one partition, so in order.
func partitionOf(table string, row []byte, partitions int) int {
	h := fnv.New64a()
	h.Write([]byte(table))
	h.Write([]byte{0})
	h.Write(row)
	return int(h.Sum64() % uint64(partitions))
}

// ship appends a batch's changes and returns once Kafka has them all.
func (s *session) ship(ctx context.Context, b *Batch) error {
	values := make([][][]byte, len(s.partitions))
	for i := range b.Changes {
		c := &b.Changes[i]
		if c.Row != nil {
			p := partitionOf(c.Table, c.Row, len(values))
			values[p] = s.add(values[p], p, c)
			continue
		}
		for p := range values {
			values[p] = s.add(values[p], p, c)
		}
	}
	if err := s.append(ctx, values); err != nil {
		return err
	}
	hook.At("relay.shipped")
	s.through = b.Through
	s.metrics.changes.Add(float64(len(b.Changes)))
	return nil
}

// add appends one change's record to what goes to a partition, unless the
// partition has it: after a restart the log offers it again.
func (s *session) add(values [][]byte, p int, c *Change) [][]byte {
	end := &s.partitions[p]
	if c.Position.Compare(end.last) <= 0 {
		return values
	}
	change := c.Change
	if change.Commit == proxy.Never {
		change.Commit = end.seen
	}
	r := event.Record{Stream: s.hash, Prev: end.last, Position: c.Position, Change: &change}
	end.last = c.Position
	return append(values, event.Append(nil, &r))
}

// checkpoint appends a checkpoint to every partition if one is due. The
// changes before it are acknowledged by then. A T that goes back is one, too:
// the database's clock was set, and readers know what to make of that; without
// any, they would follow no more and the log be kept until it has caught up.
func (s *session) checkpoint(ctx context.Context, b *Batch) error {
	if b.T == proxy.Never || b.T == s.t || time.Since(s.checked) < s.opts.CheckpointInterval {
		return nil
	}
	values := make([][][]byte, len(s.partitions))
	for p := range values {
		end := &s.partitions[p]
		position := b.Through
		if position.Compare(end.last) < 0 {
			position = end.last
		}
		position.Seq++
		r := event.Record{
			Stream: s.hash, Prev: end.last, Position: position,
			Checkpoint: &event.Checkpoint{T: b.T, Stream: s.stream, Nonce: s.nonce, State: b.State},
		}
		end.last, end.seen = position, b.T
		values[p] = [][]byte{event.Append(nil, &r)}
	}
	if err := s.append(ctx, values); err != nil {
		return err
	}
	s.t, s.checked = b.T, time.Now()
	s.metrics.checkpointed(b.T)
	return s.log.Ack(ctx, Mark{Topic: s.stream.Topic, Through: b.Through})
}

// append appends to all partitions at the same time.
func (s *session) append(ctx context.Context, values [][][]byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.AppendTimeout)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	for p, v := range values {
		if len(v) > 0 {
			g.Go(func() error { return s.topic.Append(ctx, p, v) })
		}
	}
	return g.Wait()
}
