package kafka

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// readCommitted is the isolation level of everything that is read: records of
// open transactions are not handed out, and the end of a partition is before
// the first of them.
const readCommitted = 1

// client asks the cluster about topics. Every request has a deadline.
type client struct {
	opts      Options
	transport *kafkago.Transport
	conns     *conns

	mu    sync.Mutex
	known []string // brokers the cluster's layout is asked of
}

func newClient(opts Options) (*client, error) {
	opts = opts.withDefaults()
	if err := opts.check(); err != nil {
		return nil, err
	}
	tlsConfig, err := opts.TLS.config()
	if err != nil {
		return nil, err
	}
	mechanism, err := opts.SASL.mechanism()
	if err != nil {
		return nil, err
	}
	conns := newConns(opts.DialTimeout, tlsConfig)
	return &client{
		opts:  opts,
		known: opts.Brokers,
		conns: conns,
		transport: &kafkago.Transport{
			Dial:           conns.dial,
			DialTimeout:    opts.DialTimeout,
			MetadataTTL:    opts.MetadataTTL,
			MetadataTopics: opts.topics(),
			ClientID:       opts.ClientID,
			SASL:           mechanism,
		},
	}, nil
}

// close returns when no goroutine of the transport uses a connection. No
// request may be running.
func (c *client) close() {
	c.transport.CloseIdleConnections()
	c.conns.close()
}

// ask sends one request and waits for the answer until the timeout. Without a
// deadline in its context a request would leave the transport's goroutine
// waiting for ever. The error names the mend.
func (c *client) ask(ctx context.Context, timeout time.Duration, req kafkago.Request) (kafkago.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	res, err := c.transport.RoundTrip(ctx, c.addr(), req)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, mend(err, c.opts.Brokers))
	}
	return res, nil
}

func (c *client) addr() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return kafkago.TCP(c.known...)
}

// learn adds the brokers of the cluster to those that were configured. The
// library asks only the address it was given where leaders are: with that
// broker gone, moved leaders would never be found.
func (c *client) learn(brokers []metadata.ResponseBroker) {
	known := slices.Clone(c.opts.Brokers)
	for _, b := range brokers {
		addr := net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		if !slices.Contains(known, addr) {
			known = append(known, addr)
		}
	}
	c.mu.Lock()
	same := slices.Equal(known, c.known)
	c.known = known
	c.mu.Unlock()
	if !same {
		// The transport keeps a layout for each address; drop the old one.
		c.transport.CloseIdleConnections()
	}
}

// leaders returns the leader of each partition, -1 where there is none. The
// transport answers from what it knew at most MetadataTTL ago, and from
// anything older while no broker answers.
func (c *client) leaders(ctx context.Context) ([]int32, error) { return c.leadersOf(ctx, c.opts.Topic) }

func (c *client) leadersOf(ctx context.Context, name string) ([]int32, error) {
	m, err := c.ask(ctx, c.patience(), &metadata.Request{TopicNames: []string{name}})
	if err != nil {
		return nil, fmt.Errorf("read metadata of topic %q: %w", name, err)
	}
	c.learn(m.(*metadata.Response).Brokers)
	topic := &m.(*metadata.Response).Topics[0]
	switch code := kafkago.Error(topic.ErrorCode); {
	case code == kafkago.UnknownTopicOrPartition, code == 0 && len(topic.Partitions) == 0:
		return nil, fmt.Errorf("topic %q: %w", name, ErrNoTopic)
	case code != 0:
		return nil, fmt.Errorf("read metadata of topic %q: %w", name, code)
	}
	leaders := make([]int32, len(topic.Partitions))
	for i, p := range topic.Partitions { // sorted by the transport
		if int(p.PartitionIndex) != i {
			return nil, fmt.Errorf("read metadata of topic %q: partition %d is missing", name, i)
		}
		leaders[i] = p.LeaderID
	}
	return leaders, nil
}

// The timestamps that stand for the ends of a log.
const (
	firstOffset int64 = -2
	endOffset   int64 = -1
)

// offsets returns the first or the end offset of partitions 0 to n−1.
func (c *client) offsets(ctx context.Context, which int64, n int) ([]int64, error) {
	return c.offsetsOf(ctx, c.opts.Topic, which, n)
}

func (c *client) offsetsOf(ctx context.Context, topic string, which int64, n int) ([]int64, error) {
	req := &listoffsets.Request{ReplicaID: -1, IsolationLevel: readCommitted}
	req.Topics = []listoffsets.RequestTopic{{Topic: topic}}
	for i := range n {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, listoffsets.RequestPartition{
			Partition: int32(i), CurrentLeaderEpoch: -1, Timestamp: which,
		})
	}
	m, err := c.ask(ctx, c.patience(), req)
	if err != nil {
		return nil, fmt.Errorf("list offsets of topic %q: %w", topic, err)
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = -1 // a partition the answer leaves out must not count as empty
	}
	for _, t := range m.(*listoffsets.Response).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return nil, fmt.Errorf("list offsets of topic %q, partition %d: %w", topic, p.Partition, kafkago.Error(p.ErrorCode))
			}
			if int(p.Partition) < n {
				out[p.Partition] = p.Offset
			}
		}
	}
	for i, offset := range out {
		if offset < 0 {
			return nil, fmt.Errorf("list offsets of topic %q: no answer for partition %d", topic, i)
		}
	}
	return out, nil
}

// patience is how long a broker may take over a question it can answer at
// once, a connection that is made for it included.
func (c *client) patience() time.Duration { return c.opts.DialTimeout + c.opts.AnswerTimeout }

// pause waits for d, or returns false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
