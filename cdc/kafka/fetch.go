package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// fetcher asks one leader for its partitions, all in one request, again and
// again.
type fetcher struct {
	tail   *Tail
	leader int32
	parts  []*partition
	doubt  chan<- struct{}

	turn   int // which partition is first in the next request
	failed int // requests in a row without an answer
	alone  int // so many more requests carry one partition each
	budget int // bytes of the next answer
}

func newFetcher(t *Tail, leader int32, parts []*partition, doubt chan<- struct{}) *fetcher {
	return &fetcher{tail: t, leader: leader, parts: parts, doubt: doubt, budget: t.client.opts.FetchMaxBytes}
}

// run fetches until ctx ends or there is an error that asking again does not
// mend: a gap.
func (f *fetcher) run(ctx context.Context) error {
	var wait backoff
	for {
		err := f.fetch(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			wait = backoff{}
			f.tail.news.answers(f.leader)
			continue
		case errors.Is(err, errShort), errors.Is(err, errNothing):
		case classify(err) == retry:
			f.tail.metrics.failures.Inc()
			f.tail.news.silent(f.leader, err)
			f.suspect()
		default:
			return err
		}
		if f.failed == 0 {
			wait = backoff{} // it answered, and serves other partitions
		}
		if !pause(ctx, wait.next()) {
			return ctx.Err()
		}
	}
}

// suspect asks for a look at the layout; one pending request is enough.
func (f *fetcher) suspect() {
	select {
	case f.doubt <- struct{}{}:
	default:
	}
}

// fetch makes one request and takes in its answer. Partitions the answer does
// not mention learn nothing from it.
func (f *fetcher) fetch(ctx context.Context) error {
	opts := &f.tail.client.opts
	parts, wait := f.next()
	sent := time.Now()
	m, err := f.tail.client.ask(ctx, wait+opts.AnswerTimeout, opts.request(parts, wait, f.budget))
	f.tally(err)
	if err != nil {
		return fmt.Errorf("fetch from broker %d: %w", f.leader, err)
	}
	res := m.(*fetch.Response)
	if res.ErrorCode != 0 {
		return fmt.Errorf("fetch from broker %d: %w", f.leader, kafkago.Error(res.ErrorCode))
	}
	err = f.take(res, sent)
	if res.ThrottleTimeMs > 0 {
		// The broker will not read from this connection until then, and
		// its silence would be taken for death.
		pause(ctx, time.Duration(res.ThrottleTimeMs)*time.Millisecond)
	}
	return err
}

func (f *fetcher) take(res *fetch.Response, sent time.Time) error {
	var first error
	var records, bytes int
	var moved, hungry bool
	now := time.Now()
	for _, topic := range res.Topics {
		for i := range topic.Partitions {
			r := &topic.Partitions[i]
			p := f.find(topic.Topic, r.Partition)
			if p == nil {
				continue
			}
			before := p.next
			err := p.take(r, sent, now, f.tail.handler.Record)
			moved = moved || p.next > before
			records, bytes = records+p.count, bytes+p.bytes
			switch {
			case err == errNothing:
				hungry = true
			case err != nil && (first == nil || classify(err) == lost):
				first = fmt.Errorf("fetch %v from broker %d: %w", p, f.leader, err)
			}
		}
	}
	f.tail.metrics.records.Add(float64(records))
	f.tail.metrics.bytes.Add(float64(bytes))
	if first == nil && hungry && !moved {
		return errNothing // not just others that were served first
	}
	return first
}

func (f *fetcher) find(topic string, number int32) *partition {
	for _, p := range f.parts {
		if p.number == number && f.tail.client.opts.topicOf(p) == topic {
			return p
		}
	}
	return nil
}

// aloneAfter failures in a row the partitions are asked for one by one: one
// that cannot be decoded fails the whole answer it is in.
const aloneAfter = 3

// minBudget is the least an answer is cut down to.
const minBudget = 64 << 10

// tally draws the conclusions of whether a request was answered.
func (f *fetcher) tally(err error) {
	if err == nil {
		f.failed = 0
		f.alone = max(0, f.alone-1)
		f.budget = min(2*f.budget, f.tail.client.opts.FetchMaxBytes)
		return
	}
	if f.failed++; f.failed >= aloneAfter {
		f.alone = len(f.parts)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		// Perhaps the answer was too large for the line: it would be
		// again.
		f.budget = max(f.budget/2, minBudget)
	}
}

// next returns the partitions of the next request, and how long the broker may
// hold it. Each request begins with another partition, as only the first is
// promised a batch that is larger than its limit, and the last get nothing
// while others fill the answer.
func (f *fetcher) next() ([]*partition, time.Duration) {
	n, wait := len(f.parts), f.tail.client.opts.MaxWait
	f.turn = (f.turn + 1) % n
	if f.alone > 0 {
		return f.parts[f.turn : f.turn+1], max(wait/time.Duration(n), time.Millisecond)
	}
	parts := make([]*partition, 0, n)
	return append(append(parts, f.parts[f.turn:]...), f.parts[:f.turn]...), wait
}

// request asks for the partitions from their positions on, in that order but
// for those of one topic, which stand together.
func (o *Options) request(parts []*partition, wait time.Duration, maxBytes int) *fetch.Request {
	req := &fetch.Request{
		ReplicaID:      -1,
		MaxWaitTime:    int32(wait.Milliseconds()),
		MinBytes:       1,
		MaxBytes:       int32(maxBytes),
		IsolationLevel: readCommitted,
		SessionEpoch:   -1, // no session: every answer speaks for every partition
	}
	for _, p := range parts {
		topic := o.topicOf(p)
		i := slices.IndexFunc(req.Topics, func(t fetch.RequestTopic) bool { return t.Topic == topic })
		if i < 0 {
			i = len(req.Topics)
			req.Topics = append(req.Topics, fetch.RequestTopic{Topic: topic})
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, fetch.RequestPartition{
			Partition:          p.number,
			CurrentLeaderEpoch: -1,
			FetchOffset:        p.next,
			LogStartOffset:     -1,
			PartitionMaxBytes:  int32(o.PartitionMaxBytes),
		})
	}
	return req
}

func (o *Options) topicOf(p *partition) string { return cmp.Or(p.topic, o.Topic) }
