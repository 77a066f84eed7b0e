package node

import (
	"context"
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Broker is a Kafka broker inside this process, on a real TCP port: what
// freshet dev runs instead of a cluster.
type Broker struct {
	cluster *kfake.Cluster
	listens string
}

// OpenBroker starts a broker that keeps its log under dir, and has topic with
// that many partitions.
func OpenBroker(address, dir, topic string, partitions int) (*Broker, error) {
	return OpenBrokerBehind("", address, dir, topic, partitions)
}

// OpenBrokerBehind is OpenBroker for a broker whose clients are to come by way
// of front, which passes them on.
func OpenBrokerBehind(front, address, dir, topic string, partitions int) (*Broker, error) {
	listener, err := listen(address, "--kafka")
	if err != nil {
		return nil, err
	}
	listens := listener.Addr().String()
	if front != "" {
		listener = &advertised{Listener: listener, front: front}
	}
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ListenFn(func(string, string) (net.Listener, error) { return listener, nil }),
		kfake.DataDir(dir),
		kfake.SeedTopics(int32(partitions), topic),
		// A relay writes checkpoints all day; a node that was away for longer
		// than this starts anew at the end.
		kfake.BrokerConfigs(map[string]string{"log.retention.ms": "3600000"}),
	)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("start a broker in %s: %w", dir, err)
	}
	return &Broker{cluster: cluster, listens: listens}, nil
}

// advertised is a listener that names another address as its own: the one
// that the broker tells its clients.
type advertised struct {
	net.Listener
	front string
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

func (a *advertised) Addr() net.Addr { return address(a.front) }

// Address is where the broker listens.
func (b *Broker) Address() string { return b.listens }

// Close stops the broker. What was acknowledged is there again when one is
// opened on the same folder.
func (b *Broker) Close() { b.cluster.Close() }

// Recreate deletes a topic and makes it anew, as empty as it was at first.
func (b *Broker) Recreate(topic string, partitions int) error {
	if err := b.cluster.DeleteTopic(topic); err != nil {
		return fmt.Errorf("delete topic %q: %w", topic, err)
	}
	if err := b.cluster.CreateTopic(topic, int32(partitions), nil); err != nil {
		return fmt.Errorf("create topic %q: %w", topic, err)
	}
	return nil
}

// Forget deletes all records that a topic has, as its retention would.
func (b *Broker) Forget(topic string) error {
	const all = -1
	for _, p := range b.cluster.PartitionInfos(topic) {
		if err := b.cluster.DeleteRecords(topic, p.Partition, all); err != nil {
			return fmt.Errorf("delete the records of topic %q, partition %d: %w", topic, p.Partition, err)
		}
	}
	return nil
}

// Widen gives a topic more partitions.
func (b *Broker) Widen(ctx context.Context, topic string, partitions int) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(b.listens))
	if err != nil {
		return err
	}
	defer c.Close()
	req := kmsg.NewPtrCreatePartitionsRequest()
	want := kmsg.NewCreatePartitionsRequestTopic()
	want.Topic, want.Count = topic, int32(partitions)
	req.Topics = append(req.Topics, want)
	res, err := req.RequestWith(ctx, c)
	if err != nil {
		return fmt.Errorf("add partitions to topic %q: %w", topic, err)
	}
	for _, t := range res.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("add partitions to topic %q: %w", topic, err)
		}
	}
	return nil
}
