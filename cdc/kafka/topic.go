package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	kafkago "github.com/segmentio/kafka-go"
)

// EnsureTopic creates the topic with that many partitions, or sees to it that
// the one that exists will do: an error says what does not, and what to do.
func (p *Producer) EnsureTopic(ctx context.Context, partitions int) error {
	if partitions < 1 {
		return fmt.Errorf("kafka: a topic has at least one partition, not %d", partitions)
	}
	return p.persist(ctx, noPartition, func() error {
		leaders, err := p.client.leaders(ctx)
		switch {
		case errors.Is(err, ErrNoTopic):
			return p.create(ctx, partitions)
		case err != nil:
			return err
		case len(leaders) != partitions:
			return &UnfitTopicError{Topic: p.client.opts.Topic, Reason: fmt.Sprintf(
				"it has %d partitions and not %d: set the number to what it is, or delete the topic", len(leaders), partitions)}
		}
		return p.checkPolicy(ctx)
	})
}

// UnfitTopicError is returned when a topic exists that the relay cannot use.
type UnfitTopicError struct{ Topic, Reason string }

func (e *UnfitTopicError) Error() string {
	return fmt.Sprintf("kafka: topic %q does not fit: %s", e.Topic, e.Reason)
}

// checkPolicy refuses a topic that is kept in a way that cannot work, and tells
// of what is less than safe.
func (p *Producer) checkPolicy(ctx context.Context) error {
	policy, err := p.client.policy(ctx)
	if err != nil {
		return err
	}
	if reason := policy.unfit(p.client.opts.BatchMaxBytes); reason != "" {
		return &UnfitTopicError{Topic: p.client.opts.Topic, Reason: reason}
	}
	if reason := policy.weak(); reason != "" {
		p.news.log.Warn("the topic may lose what it has acknowledged", "reason", reason)
	}
	return nil
}

func (p *Producer) create(ctx context.Context, partitions int) error {
	opts := &p.client.opts
	kc := &kafkago.Client{Addr: p.client.addr(), Transport: p.client.transport, Timeout: opts.ProduceTimeout}
	settings := []kafkago.ConfigEntry{
		{ConfigName: "cleanup.policy", ConfigValue: "delete"},
		{ConfigName: "retention.ms", ConfigValue: strconv.FormatInt(opts.Retention.Milliseconds(), 10)},
		// A leader that lacks acknowledged records would cut the log under
		// every reader.
		{ConfigName: "unclean.leader.election.enable", ConfigValue: "false"},
	}
	if opts.Replication > 2 { // of two, the loss of one would stop the stream
		settings = append(settings, kafkago.ConfigEntry{ConfigName: "min.insync.replicas", ConfigValue: "2"})
	}
	res, err := kc.CreateTopics(ctx, &kafkago.CreateTopicsRequest{Topics: []kafkago.TopicConfig{{
		Topic:             opts.Topic,
		NumPartitions:     partitions,
		ReplicationFactor: opts.Replication,
		ConfigEntries:     settings,
	}}})
	if err != nil {
		return fmt.Errorf("create topic %q: %w", opts.Topic, err)
	}
	if err := res.Errors[opts.Topic]; err != nil && !errors.Is(err, kafkago.TopicAlreadyExists) {
		return fmt.Errorf("create topic %q: %w", opts.Topic, err)
	}
	// Another relay may have been quicker, with other settings: look again.
	return errCreated
}

var errCreated = errors.New("kafka: the topic was just created")
