package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestAppendKeepsOrderOverManyBatches(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, topic))
	opts := options(c.ListenAddrs())
	opts.BatchMaxBytes = 200
	c.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if acks := r.(*kmsg.ProduceRequest).Acks; acks != -1 {
			t.Errorf("acks %d", acks)
		}
		return nil, nil, false
	})
	p := producer(t, opts)
	e := newEar()
	start(t, opts, e, quiet())
	e.untilAttached(t)
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint(i, strings.Repeat("x", i*7%250)))
	}
	put(t, p, 0, want...)
	all := e.untilRecord(t, want[99])
	if got := values(all); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v", got)
	}
	put(t, p, 0) // nothing is fine
}

func TestFit(t *testing.T) {
	v := func(sizes ...int) (out [][]byte) {
		for _, n := range sizes {
			out = append(out, make([]byte, n))
		}
		return out
	}
	for _, tt := range []struct {
		values [][]byte
		want   int
	}{
		{v(1), 1},
		{v(1000), 1},
		{v(1000, 1), 1},
		{v(1, 1000), 1},
		{v(34, 34), 2},
		{v(34, 35), 1},
		{v(0, 0, 0, 0, 0, 0, 0), 6},
	} {
		if got := fit(tt.values, 100); got != tt.want {
			t.Errorf("%d values: %d, want %d", len(tt.values), got, tt.want)
		}
	}
}

// Attempts that fail are made again, also where the records arrived: then they
// stand twice, and the order of first appearances is kept.
func TestAppendTriesAgain(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.SeedTopics(1, topic))
	var logged buffer
	opts := options(c.ListenAddrs())
	opts.BatchMaxBytes = 1
	p := producerThatLogs(t, opts, logger(&logged))
	e := newEar()
	start(t, opts, e, quiet())
	e.untilAttached(t)
	for i, err := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut,
		kerr.NotEnoughReplicas, kerr.UnknownTopicOrPartition, kerr.TopicAuthorizationFailed,
	} {
		fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: err, Count: 2})
		put(t, p, 0, fmt.Sprint(i, "a"), fmt.Sprint(i, "b"))
		if fault.Hits() != 2 {
			t.Errorf("%v: hit %d times", err, fault.Hits())
		}
		all := e.untilRecord(t, fmt.Sprint(i, "b"))
		for _, message := range []string{"waiting for Kafka", "answers again"} {
			if n := strings.Count(logged.String(), message); n != i+1 {
				t.Errorf("%v: %q logged %d times", err, message, n)
			}
		}
		if a := index(all, fmt.Sprint(i, "a")); a < 0 || a > index(all, fmt.Sprint(i, "b")) {
			t.Errorf("%v:\n%s", err, lines(all))
		}
	}
}

func TestAppendGivesUp(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, topic))
	p := producer(t, options(c.ListenAddrs()))
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.MessageTooLarge})
	err := p.Append(within(t), 0, [][]byte{[]byte("x")})
	if err == nil || !strings.Contains(err.Error(), "Message Size Too Large") {
		t.Errorf("refused for good: %v", err)
	}
	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.NotEnoughReplicas, Count: -1})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Append(ctx, 0, [][]byte{[]byte("x")}) }()
	if err := fault.Wait(within(t), 2); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestLast(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(3, topic))
	p := producer(t, options(c.ListenAddrs()))
	anything := func([]byte) bool { return true }
	last := func(partition int, wanted func([]byte) bool) string {
		t.Helper()
		v, err := p.Last(within(t), partition, wanted)
		if err != nil {
			t.Fatal(err)
		}
		if v == nil {
			return "nothing"
		}
		return string(v)
	}
	if got := last(2, anything); got != "nothing" {
		t.Errorf("an empty partition: %q", got)
	}
	put(t, p, 2, "one", "two")
	put(t, p, 2, "three", "")
	if got := last(2, anything); got != "" {
		t.Errorf("an empty value: %q", got)
	}
	put(t, p, 2, "four")
	if got := last(2, anything); got != "four" {
		t.Errorf("got %q", got)
	}
	if got := last(2, func(v []byte) bool { return len(v) == 3 }); got != "two" {
		t.Errorf("of three letters: %q", got)
	}
	if got := last(2, func(v []byte) bool { return len(v) > 9 }); got != "nothing" {
		t.Errorf("of more letters than any: %q", got)
	}
	// Aborted transactions and markers are passed over, however many.
	cl := other(t, c.ListenAddrs(), kgo.TransactionalID("tx"))
	for range 12 {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := cl.ProduceSync(within(t), &kgo.Record{Partition: 2, Value: []byte("aborted")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := cl.EndTransaction(within(t), kgo.TryAbort); err != nil {
			t.Fatal(err)
		}
	}
	if got := last(2, anything); got != "four" {
		t.Errorf("behind aborted ones: %q", got)
	}
	if err := c.DeleteRecords(topic, 2, 29); err != nil {
		t.Fatal(err)
	}
	if got := last(2, anything); got != "nothing" {
		t.Errorf("cut up to the end: %q", got)
	}
	if got := last(1, anything); got != "nothing" {
		t.Errorf("another partition: %q", got)
	}
}

func TestEnsureTopic(t *testing.T) {
	c := cluster(t)
	opts := options(c.ListenAddrs())
	opts.Retention = 3 * time.Hour
	p := producer(t, opts)
	if _, err := p.Partitions(within(t)); !errors.Is(err, ErrNoTopic) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no topic: %v", err)
	}
	if err := p.EnsureTopic(within(t), 0); err == nil {
		t.Error("a topic with no partitions")
	}
	for range 2 { // the second time it is there
		if err := p.EnsureTopic(within(t), 5); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := p.Partitions(within(t)); n != 5 || err != nil {
		t.Errorf("%d partitions, %v", n, err)
	}
	configs := c.TopicInfo(topic).Configs
	if configs["cleanup.policy"] == nil || *configs["cleanup.policy"] != "delete" || *configs["retention.ms"] != "10800000" {
		t.Errorf("settings %v", configs)
	}
	var unfit *UnfitTopicError
	if err := p.EnsureTopic(within(t), 6); !errors.As(err, &unfit) || !strings.Contains(err.Error(), "5 partitions and not 6") {
		t.Errorf("another number: %v", err)
	}
	if err := producer(t, options(compacting(t).ListenAddrs())).EnsureTopic(within(t), 1); !errors.As(err, &unfit) {
		t.Errorf("compacting: %v", err)
	}
}

func TestEnsureTopicByTwoAtOnce(t *testing.T) {
	c := cluster(t)
	errs := make(chan error)
	for range 2 {
		p := producer(t, options(c.ListenAddrs()))
		go func() { errs <- p.EnsureTopic(within(t), 3) }()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
