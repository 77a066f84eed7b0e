package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// Last returns the last value of a partition that is wanted, nil if there is
// none. Markers of transactions and what they aborted do not count. wanted is
// asked about any values, in any order and repeatedly, and a value is its own
// during the call only.
func (p *Producer) Last(ctx context.Context, partition int, wanted func(value []byte) bool) ([]byte, error) {
	var last []byte
	err := p.persist(ctx, partition, func() (err error) {
		last, err = p.last(ctx, partition, wanted)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the last record of topic %q, partition %d: %w", p.client.opts.Topic, partition, err)
	}
	return last, nil
}

// last reads ever longer stretches before the end until one holds what is
// wanted.
func (p *Producer) last(ctx context.Context, partition int, wanted func([]byte) bool) ([]byte, error) {
	starts, err := p.client.offsets(ctx, firstOffset, partition+1)
	if err != nil {
		return nil, err
	}
	ends, err := p.client.offsets(ctx, endOffset, partition+1)
	if err != nil {
		return nil, err
	}
	start, end := starts[partition], ends[partition]
	for step := int64(1); end > start; step *= 8 {
		from := max(start, end-step)
		value, found, err := p.lastIn(ctx, partition, from, end, wanted)
		if err != nil || found {
			return value, err
		}
		end = from
	}
	return nil, nil
}

// lastIn returns the last value in [from, end), or one that came behind it.
func (p *Producer) lastIn(ctx context.Context, partition int, from, end int64, wanted func([]byte) bool) (value []byte, found bool, err error) {
	// Holes do not matter here: it is for the readers to find gaps.
	log := newPartition(partition, from, true)
	keep := func(_ int, _ int64, _, v []byte) {
		if wanted(v) {
			value, found = bytes.Clone(v), true
		}
	}
	for log.next < end {
		if err := p.client.read(ctx, log, keep); err != nil {
			return nil, false, err
		}
	}
	return value, found, nil
}

// read fetches once from a partition's log.
func (c *client) read(ctx context.Context, log *partition, to record) error {
	req := c.opts.request([]*partition{log}, c.opts.MaxWait, c.opts.FetchMaxBytes)
	m, err := c.ask(ctx, c.opts.ProduceTimeout, req)
	if err != nil {
		return err
	}
	res := m.(*fetch.Response)
	if res.ErrorCode != 0 {
		return kafkago.Error(res.ErrorCode)
	}
	for _, topic := range res.Topics {
		for i := range topic.Partitions {
			if r := &topic.Partitions[i]; r.Partition == log.number {
				now := time.Now()
				return log.take(r, now, now, to)
			}
		}
	}
	return errors.New("the answer leaves out the partition")
}
