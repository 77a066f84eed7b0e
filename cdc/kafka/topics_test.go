package kafka

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Several topics are followed as one: their partitions are numbered through,
// and a gap in one is a gap of the whole.
func TestSeveralTopics(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.NumBrokers(2), kfake.SeedTopics(2, "orders"), kfake.SeedTopics(3, "users"))
	opts := Options{Brokers: c.ListenAddrs(), Topics: []string{"users", "orders"}}
	to := func(topic string) *Producer {
		return producer(t, Options{Brokers: c.ListenAddrs(), Topic: topic})
	}
	users, orders := to("users"), to("orders")
	put(t, orders, 1, "there already")
	e := newEar()
	tail := start(t, opts, e, quiet())
	e.untilRecord(t, "there already")
	for i := range 3 {
		put(t, users, i, fmt.Sprint("user ", i))
		e.untilRecord(t, fmt.Sprint("user ", i))
	}
	put(t, orders, 0, "order")
	all := e.untilRecord(t, "order")
	for _, h := range all {
		want := map[string]int{"user 0": 0, "user 1": 1, "user 2": 2, "order": 3, "there already": 4}
		if n, ok := want[h.value]; ok && n != h.partition || h.call == "attached" && h.partition != 5 {
			t.Errorf("heard %v", h)
		}
	}
	for partition, want := range []string{"users 0", "users 1", "users 2", "orders 0", "orders 1", " 0"} {
		topic, number := tail.Where(partition)
		if got := fmt.Sprint(topic, " ", number); got != want {
			t.Errorf("partition %d is %q, want %q", partition, got, want)
		}
	}

	grow(t, c, "users", 4)
	e.untilLost(t, partitionsAdded)
	put(t, orders, 1, "moved on")
	for _, h := range e.untilRecord(t, "moved on") {
		if h.value == "moved on" && h.partition != 5 {
			t.Errorf("heard %v", h)
		}
	}
	if topic, number := tail.Where(3); topic != "users" || number != 3 {
		t.Errorf("partition 3 is %s %d", topic, number)
	}

	if err := c.DeleteTopic("orders"); err != nil {
		t.Fatal(err)
	}
	e.until(t, "a gap", func(all []heard) bool { return count(all, "lost") == 3 })
	if ok, why := tail.CaughtUp(); ok {
		t.Error("caught up with a topic that is gone", why)
	}
}

func grow(t *testing.T, c *kfake.Cluster, topic string, partitions int32) {
	t.Helper()
	req := kmsg.NewCreatePartitionsRequest()
	more := kmsg.NewCreatePartitionsRequestTopic()
	more.Topic, more.Count = topic, partitions
	req.Topics = append(req.Topics, more)
	res, err := req.RequestWith(within(t), other(t, c.ListenAddrs()))
	if err != nil || res.Topics[0].ErrorCode != 0 {
		t.Fatal(err, res)
	}
}
