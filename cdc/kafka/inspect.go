package kafka

import (
	"context"
	"fmt"
	"strconv"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// Facts is what the brokers say of a topic, for who judges it. A topic that is
// not there has what it would be made with.
type Facts struct {
	Topic      string
	Found      bool
	Brokers    int
	Partitions int
	Leaderless []int // partitions that nobody serves
	Replicas   int   // of the partition that has the fewest
	InSync     int   // replicas that are, of the partition that has the fewest
	Records    int64 // in all partitions, those of open transactions not among them
	// Settings are the topic's by their names, or the brokers' if it is not
	// there. Those that this user may not read are not among them.
	Settings map[string]string
}

// Inspect asks the brokers about the topic. That it is not there is no error.
func Inspect(ctx context.Context, opts Options) (*Facts, error) {
	c, err := newClient(opts)
	if err != nil {
		return nil, err
	}
	defer c.close()
	f := &Facts{Topic: opts.Topic, Settings: map[string]string{}}
	broker, err := c.inspectLayout(ctx, f)
	if err != nil {
		return nil, err
	}
	if !f.Found {
		c.inspectSettings(ctx, f, kafkago.ResourceTypeBroker, strconv.Itoa(broker), brokerSettings)
		return f, nil
	}
	c.inspectSettings(ctx, f, kafkago.ResourceTypeTopic, opts.Topic, topicSettings)
	if len(f.Leaderless) == 0 {
		f.Records, err = c.records(ctx, f.Partitions)
	}
	return f, err
}

// What matters of a topic, and of a broker on which one will be made.
var (
	topicSettings = []string{
		"cleanup.policy", "retention.ms", "retention.bytes", "max.message.bytes", "min.insync.replicas", "unclean.leader.election.enable",
	}
	brokerSettings = []string{"default.replication.factor", "min.insync.replicas"}
)

// inspectLayout returns a broker that can be asked about itself.
func (c *client) inspectLayout(ctx context.Context, f *Facts) (broker int, err error) {
	m, err := c.ask(ctx, c.patience(), &metadata.Request{TopicNames: []string{c.opts.Topic}})
	if err != nil {
		return 0, fmt.Errorf("read metadata of topic %q: %w", c.opts.Topic, err)
	}
	return f.take(m.(*metadata.Response))
}

// take takes in the layout, and returns one of the brokers.
func (f *Facts) take(res *metadata.Response) (broker int, err error) {
	f.Brokers = len(res.Brokers)
	if f.Brokers > 0 {
		broker = int(res.Brokers[0].NodeID)
	}
	if len(res.Topics) == 0 {
		return broker, nil
	}
	topic := &res.Topics[0]
	switch code := kafkago.Error(topic.ErrorCode); {
	case code == kafkago.UnknownTopicOrPartition, code == 0 && len(topic.Partitions) == 0:
		return broker, nil
	case code != 0:
		return 0, fmt.Errorf("read metadata of topic %q: %w", f.Topic, code)
	}
	f.Found, f.Partitions = true, len(topic.Partitions)
	for i, p := range topic.Partitions {
		if p.LeaderID < 0 {
			f.Leaderless = append(f.Leaderless, int(p.PartitionIndex))
		}
		replicas, inSync := len(p.ReplicaNodes), len(p.IsrNodes)
		if i == 0 || replicas < f.Replicas {
			f.Replicas = replicas
		}
		if i == 0 || inSync < f.InSync {
			f.InSync = inSync
		}
	}
	return broker, nil
}

// inspectSettings reads what this user may read; the rest stays unknown.
func (c *client) inspectSettings(ctx context.Context, f *Facts, kind kafkago.ResourceType, name string, settings []string) {
	kc := &kafkago.Client{Addr: c.addr(), Transport: c.transport, Timeout: c.patience()}
	res, err := kc.DescribeConfigs(ctx, &kafkago.DescribeConfigsRequest{
		Resources: []kafkago.DescribeConfigRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: settings}},
	})
	if err != nil {
		return
	}
	for _, r := range res.Resources {
		for _, e := range r.ConfigEntries {
			f.Settings[e.ConfigName] = e.ConfigValue
		}
	}
}

func (c *client) records(ctx context.Context, partitions int) (sum int64, err error) {
	starts, err := c.offsets(ctx, firstOffset, partitions)
	if err != nil {
		return 0, err
	}
	ends, err := c.offsets(ctx, endOffset, partitions)
	if err != nil {
		return 0, err
	}
	for i := range ends {
		sum += max(0, ends[i]-starts[i])
	}
	return sum, nil
}
