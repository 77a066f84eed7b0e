package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/produce"
)

// Producer appends to the partitions of one topic. Its methods may be called
// concurrently, but appends to one partition keep their order only if each
// begins after the one before it has returned.
//
// Every method asks again while that may help, until ctx ends; an error that
// comes before means that it cannot.
type Producer struct {
	client      *client
	compression compress.Compression
	news        news
}

// NewProducer reads the certificates that opts names, and nothing else. The log
// is told when an append has to wait, and when it need not any longer.
func NewProducer(opts Options, log *slog.Logger) (*Producer, error) {
	c, err := newClient(opts)
	if err != nil {
		return nil, err
	}
	compression, err := c.opts.compression()
	if err != nil {
		return nil, err
	}
	p := &Producer{client: c, compression: compression}
	p.news.log = log.With("topic", c.opts.Topic)
	return p, nil
}

// Close ends the connections. No other method may be running.
func (p *Producer) Close() { p.client.close() }

// Partitions returns how many partitions the topic has, or ErrNoTopic at once.
func (p *Producer) Partitions(ctx context.Context) (int, error) {
	var n int
	var missing error
	err := p.persist(ctx, noPartition, func() error {
		leaders, err := p.client.leaders(ctx)
		if missing = nil; errors.Is(err, ErrNoTopic) {
			missing, err = err, nil
		}
		n = len(leaders)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, missing
}

// Append writes values to the end of a partition, in order, and returns once
// all in-sync replicas have them.
//
// Values may be written twice: an attempt that was given up can still reach
// the log, even behind later appends. Its records then come with positions
// that readers have already passed, and those ignore them; what Append never
// does is to let a value be the first of its kind in the log before the value
// in front of it is there. On an error, some of the values may be in the log.
func (p *Producer) Append(ctx context.Context, partition int, values [][]byte) error {
	for len(values) > 0 {
		n := fit(values, p.client.opts.BatchMaxBytes)
		batch := values[:n]
		err := p.persist(ctx, partition, func() error { return p.produce(ctx, partition, batch) })
		if err != nil {
			return fmt.Errorf("append to topic %q, partition %d: %w", p.client.opts.Topic, partition, err)
		}
		values = values[n:]
	}
	return nil
}

// fit returns how many of the values go into one batch: as many as maxBytes
// holds, but one at least.
func fit(values [][]byte, maxBytes int) int {
	const overhead = 16 // a record's own fields, at most, where there is no key
	sum := 0
	for i, v := range values {
		sum += len(v) + overhead
		if sum > maxBytes && i > 0 {
			return i
		}
	}
	return len(values)
}

func (p *Producer) produce(ctx context.Context, partition int, values [][]byte) error {
	records := make([]protocol.Record, len(values))
	for i, v := range values {
		records[i].Value = protocol.NewBytes(v)
	}
	// Known already, but this is also how the client learns of brokers.
	if _, err := p.client.leaders(ctx); err != nil {
		return err
	}
	timeout := p.client.opts.ProduceTimeout
	m, err := p.client.ask(ctx, timeout, &produce.Request{
		Acks:    int16(kafkago.RequireAll),
		Timeout: int32(timeout.Milliseconds()),
		Topics: []produce.RequestTopic{{
			Topic: p.client.opts.Topic,
			Partitions: []produce.RequestPartition{{
				Partition: int32(partition),
				RecordSet: protocol.RecordSet{
					Attributes: protocol.Attributes(p.compression),
					Records:    protocol.NewRecordReader(records...),
				},
			}},
		}},
	})
	if err != nil {
		return err
	}
	for _, topic := range m.(*produce.Response).Topics {
		for _, r := range topic.Partitions {
			if int(r.Partition) != partition {
				continue
			}
			if r.ErrorCode != 0 {
				return kafkago.Error(r.ErrorCode)
			}
			return nil
		}
	}
	return fmt.Errorf("the answer leaves out the partition")
}

// noPartition stands for the topic as a whole.
const noPartition = -1

// persist calls f until it succeeds, fails for good, or ctx ends. It says once
// that a partition has to wait, and once that it need not any longer, however
// many calls that takes.
func (p *Producer) persist(ctx context.Context, partition int, f func() error) error {
	var wait backoff
	var last error
	for {
		err := f()
		if last == nil || ctx.Err() == nil { // that time is up says nothing of the brokers
			last = err
		}
		switch {
		case err == nil:
			p.news.appends(partition)
			return nil
		case classify(err) == hopeless:
			return err
		case err != errCreated && ctx.Err() == nil:
			p.news.waits(partition, err)
		}
		if !pause(ctx, wait.next()) {
			return fmt.Errorf("%w; last: %w", ctx.Err(), last)
		}
	}
}
