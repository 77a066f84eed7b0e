package node

import (
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Broker is a Kafka broker inside this process, on a real TCP port: what
// freshet dev runs instead of a cluster.
type Broker struct {
	cluster *kfake.Cluster
}

// OpenBroker starts a broker that keeps its log under dir, and has topic with
// that many partitions.
func OpenBroker(address, dir, topic string, partitions int) (*Broker, error) {
	listener, err := listen(address, "--kafka")
	if err != nil {
		return nil, err
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
	return &Broker{cluster: cluster}, nil
}

// Address is where the broker listens.
func (b *Broker) Address() string { return b.cluster.ListenAddrs()[0] }

// Close stops the broker. What was acknowledged is there again when one is
// opened on the same folder.
func (b *Broker) Close() { b.cluster.Close() }
