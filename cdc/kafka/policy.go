package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// policy is how the brokers keep the topic. What this user may not know is
// zero.
type policy struct {
	cleanup   string
	retention time.Duration // negative: for ever
	maxBytes  int           // of a batch
	inSync    int           // replicas that have a record before it is acknowledged, at least
	replicas  int           // of the partition that has the fewest
}

func (p policy) compacts() bool { return strings.Contains(p.cleanup, "compact") }

// leastRetention is what any use of the topic needs: shorter than this, and a
// relay that restarts may find its own last records gone, and a node that is
// held for a moment has missed some.
const leastRetention = 10 * time.Minute

// unfit says what makes a topic useless, and what to do; "" if nothing does.
func (p policy) unfit(batchBytes int) string {
	switch {
	case p.compacts():
		return fmt.Sprintf("its cleanup.policy is %q, and every change needs the one before it: set it to delete", p.cleanup)
	case p.retention > 0 && p.retention < leastRetention:
		return fmt.Sprintf("its retention.ms is %d, so that a node held for %v misses changes: set it to an hour at least, better a day", p.retention.Milliseconds(), p.retention)
	case p.maxBytes > 0 && p.maxBytes < batchBytes:
		return fmt.Sprintf("its max.message.bytes is %d, less than a batch of changes: set it to %d at least", p.maxBytes, 2*batchBytes)
	case p.inSync > p.replicas && p.replicas > 0:
		return fmt.Sprintf("its min.insync.replicas is %d, and it has %d replicas, so that nothing is ever acknowledged: lower the one or raise the other", p.inSync, p.replicas)
	}
	return ""
}

// weak says what makes a topic less than safe, and what to do.
func (p policy) weak() string {
	if p.inSync == 1 && p.replicas > 1 {
		return fmt.Sprintf("min.insync.replicas is 1 of %d replicas: what one broker has acknowledged alone is lost with it; set it to 2", p.replicas)
	}
	return ""
}

// policy asks the brokers how they keep the topic.
func (c *client) policy(ctx context.Context) (policy, error) { return c.policyOf(ctx, c.opts.Topic) }

func (c *client) policyOf(ctx context.Context, topic string) (policy, error) {
	var p policy
	kc := &kafkago.Client{Addr: c.addr(), Transport: c.transport, Timeout: c.patience()}
	res, err := kc.DescribeConfigs(ctx, &kafkago.DescribeConfigsRequest{
		Resources: []kafkago.DescribeConfigRequestResource{{
			ResourceType: kafkago.ResourceTypeTopic,
			ResourceName: topic,
			ConfigNames:  []string{"cleanup.policy", "retention.ms", "max.message.bytes", "min.insync.replicas"},
		}},
	})
	if err != nil {
		return p, fmt.Errorf("read settings of topic %q: %w", topic, err)
	}
	for _, r := range res.Resources {
		if errors.Is(r.Error, kafkago.UnknownTopicOrPartition) {
			return p, ErrNoTopic
		}
		for _, e := range r.ConfigEntries {
			p.take(e.ConfigName, e.ConfigValue)
		}
	}
	p.replicas, err = c.replicas(ctx, topic)
	return p, err
}

// take reads one setting. What is no number stays unknown.
func (p *policy) take(name, value string) {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case name == "cleanup.policy":
		p.cleanup = value
		return
	case err != nil:
		return
	}
	switch name {
	case "retention.ms":
		// Beyond what a Duration holds is for ever, and 0 is known.
		if p.retention = -1; n >= 0 && n < int64(1<<63-1)/int64(time.Millisecond) {
			p.retention = max(1, time.Duration(n)*time.Millisecond)
		}
	case "max.message.bytes":
		p.maxBytes = int(n)
	case "min.insync.replicas":
		p.inSync = int(n)
	}
}

// replicas returns how many the partition has that has the fewest.
func (c *client) replicas(ctx context.Context, topic string) (int, error) {
	m, err := c.ask(ctx, c.patience(), &metadata.Request{TopicNames: []string{topic}})
	if err != nil {
		return 0, fmt.Errorf("read metadata of topic %q: %w", topic, err)
	}
	fewest := 0
	for _, p := range m.(*metadata.Response).Topics[0].Partitions {
		if n := len(p.ReplicaNodes); fewest == 0 || n < fewest {
			fewest = n
		}
	}
	return fewest, nil
}
