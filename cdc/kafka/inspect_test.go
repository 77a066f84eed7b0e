package kafka

import (
	"strings"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/twmb/franz-go/pkg/kfake"
)

func TestInspectATopic(t *testing.T) {
	c := cluster(t, kfake.NumBrokers(3))
	set := map[string]string{"cleanup.policy": "compact", "retention.ms": "90000", "min.insync.replicas": "1"}
	if err := c.CreateTopic(topic, 2, set); err != nil {
		t.Fatal(err)
	}
	p := producer(t, options(c.ListenAddrs()))
	put(t, p, 0, "a", "b")
	put(t, p, 1, "c")
	got, err := Inspect(within(t), options(c.ListenAddrs()))
	if err != nil {
		t.Fatal(err)
	}
	if !got.Found || got.Topic != topic || got.Partitions != 2 || got.Brokers != 3 || got.Records != 3 || len(got.Leaderless) != 0 {
		t.Errorf("%+v", got)
	}
	if got.Replicas < 1 || got.InSync < 1 {
		t.Errorf("replicas %d, in sync %d", got.Replicas, got.InSync)
	}
	for name, value := range set {
		if got.Settings[name] != value {
			t.Errorf("%s is %q, want %q", name, got.Settings[name], value)
		}
	}
}

func TestInspectATopicThatIsNotThere(t *testing.T) {
	c := cluster(t)
	got, err := Inspect(within(t), options(c.ListenAddrs()))
	if err != nil {
		t.Fatal(err)
	}
	if got.Found || got.Brokers != 1 || got.Partitions != 0 {
		t.Errorf("%+v", got)
	}
}

func TestInspectNamesTheMend(t *testing.T) {
	c := cluster(t)
	away := c.ListenAddrs()
	c.Close()
	_, err := Inspect(within(t), options(away))
	if err == nil || !strings.Contains(err.Error(), "start the brokers") {
		t.Errorf("brokers that are away: %v", err)
	}
	if _, err := Inspect(within(t), Options{}); err == nil {
		t.Error("no brokers are good enough")
	}
}

// The partition that has the fewest counts, and one that nobody serves.
func TestLayoutsThatAreNotWhole(t *testing.T) {
	res := &metadata.Response{
		Brokers: []metadata.ResponseBroker{{NodeID: 7}, {NodeID: 8}},
		Topics: []metadata.ResponseTopic{{Partitions: []metadata.ResponsePartition{
			{PartitionIndex: 0, LeaderID: 7, ReplicaNodes: []int32{7, 8, 9}, IsrNodes: []int32{7, 8}},
			{PartitionIndex: 1, LeaderID: -1, ReplicaNodes: []int32{8, 9}, IsrNodes: nil},
		}}},
	}
	f := &Facts{Topic: topic}
	broker, err := f.take(res)
	if err != nil || broker != 7 || !f.Found || f.Partitions != 2 || f.Replicas != 2 || f.InSync != 0 || len(f.Leaderless) != 1 || f.Leaderless[0] != 1 {
		t.Errorf("%+v, broker %d, %v", f, broker, err)
	}
	res.Topics[0].ErrorCode = int16(kafkago.TopicAuthorizationFailed)
	if _, err := f.take(res); err == nil {
		t.Error("a topic that this user may not see")
	}
	res.Topics = nil
	if _, err := (&Facts{}).take(res); err != nil {
		t.Error(err)
	}
}
