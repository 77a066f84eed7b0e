package stack_test

import (
	"testing"

	"github.com/segmentio/kafka-go"

	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// A topic is widened, forgotten and made anew, as its owner might.
func TestKafkaTopics(t *testing.T) {
	k := stacktest.Kafka(t, nil)
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	c := kafka.Client{Addr: kafka.TCP(k.Address()), Transport: transport}
	partitions := func(want int) {
		t.Helper()
		if got, err := k.Partitions(t.Context(), "changes"); err != nil || got != want {
			t.Errorf("%d partitions, %v; want %d", got, err, want)
		}
	}
	offsets := func(first, last int64) {
		t.Helper()
		r, err := c.ListOffsets(t.Context(), &kafka.ListOffsetsRequest{
			Topics: map[string][]kafka.OffsetRequest{"changes": {kafka.FirstOffsetOf(1), kafka.LastOffsetOf(1)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if p := r.Topics["changes"][0]; p.FirstOffset != first || p.LastOffset != last {
			t.Errorf("%+v, want offsets from %d to %d", p, first, last)
		}
	}
	made, err := c.CreateTopics(t.Context(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: "changes", NumPartitions: 2, ReplicationFactor: 1}},
	})
	if err != nil || made.Errors["changes"] != nil {
		t.Fatal(err, made)
	}
	_, err = c.Produce(t.Context(), &kafka.ProduceRequest{
		Topic: "changes", Partition: 1, RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Value: kafka.NewBytes([]byte("one"))}, kafka.Record{Value: kafka.NewBytes([]byte("two"))}),
	})
	if err != nil {
		t.Fatal(err)
	}
	offsets(0, 2)
	if err := k.Forget(t.Context(), "changes"); err != nil {
		t.Fatal(err)
	}
	offsets(2, 2)
	if err := k.Widen(t.Context(), "changes", 3); err != nil {
		t.Fatal(err)
	}
	partitions(3)
	if err := k.Recreate(t.Context(), "changes", 2); err != nil {
		t.Fatal(err)
	}
	partitions(2)
	offsets(0, 0)
}
