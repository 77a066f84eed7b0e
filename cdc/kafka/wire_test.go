package kafka

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// serve answers fetches of partition 0 with a log made by hand, one batch at a
// time: kfake itself drops batches that compaction has emptied.
func serve(c *kfake.Cluster, log []batch, spoil func([]byte)) {
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		req := r.(*kmsg.FetchRequest)
		res := req.ResponseKind().(*kmsg.FetchResponse)
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic = topic
		for _, p := range req.Topics[0].Partitions {
			if p.Partition != 0 {
				continue
			}
			rp := kmsg.NewFetchResponseTopicPartition()
			end := log[len(log)-1].last + 1
			rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = end, end, 0
			rp.RecordBatches = []byte{}
			for _, b := range log {
				if b.last >= p.FetchOffset {
					rp.RecordBatches = b.wire()
					spoil(rp.RecordBatches)
					break
				}
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		if len(rt.Partitions) == 0 {
			return nil, nil, false
		}
		res.Topics = append(res.Topics, rt)
		return res, nil, true
	})
}

func compacting(t *testing.T) *kfake.Cluster {
	t.Helper()
	c := cluster(t)
	policy := map[string]string{"cleanup.policy": "compact"}
	if err := c.CreateTopic(topic, 1, policy); err != nil {
		t.Fatal(err)
	}
	return c
}

// Consecutive batches that compaction emptied, holes at the end of one and
// holes between them: passed, and no gap.
func TestCompactionHoles(t *testing.T) {
	c := compacting(t)
	e := newEar()
	tail := start(t, options(c.ListenAddrs()), e, quiet())
	e.untilAttached(t)
	serve(c, []batch{
		{base: 0, last: 4, records: []int64{1}},
		{base: 5, last: 9},
		{base: 10, last: 10},
		{base: 11, last: 19},
		{base: 25, last: 26, records: []int64{25}},
		{base: 27, last: 30, records: []int64{30}},
	}, func([]byte) {})
	all := e.untilRecord(t, "30")
	if got := values(all); !slices.Equal(got, []string{"1", "25", "30"}) || count(all, "lost") != 1 {
		t.Errorf("heard\n%s", lines(all))
	}
	for deadline := time.Now().Add(time.Minute); tail.Positions()[0].Next <= 30; time.Sleep(time.Millisecond) { // it is told of after the record
		if time.Now().After(deadline) {
			t.Fatalf("position %+v", tail.Positions()[0])
		}
	}
}

// The same holes in a topic that does not compact are missing records.
func TestHolesWithoutCompaction(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, topic))
	e := newEar()
	start(t, options(c.ListenAddrs()), e, quiet())
	e.untilAttached(t)
	serve(c, []batch{{base: 0, last: 0, records: []int64{0}}, {base: 2, last: 2, records: []int64{2}}}, func([]byte) {})
	e.untilLost(t, jump)
}

// A hole before the position, where nothing is followed yet, holds up nobody:
// neither is the topic known to compact, nor does the log end with a record.
func TestHoleAtTheEndIsNotFollowed(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, topic))
	put(t, producer(t, options(c.ListenAddrs())), 0, "0", "1", "2")
	serve(c, []batch{{base: 0, last: 2, records: []int64{0}}}, func([]byte) {})
	e := newEar()
	start(t, options(c.ListenAddrs()), e, quiet())
	e.untilAttached(t)
}

// One partition's batch fails its CRC: it stands still, the other goes on, and
// nothing is skipped once it is whole again.
func TestUndecodableBatchHoldsUpItsPartitionOnly(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.SeedTopics(2, topic))
	p := producer(t, options(c.ListenAddrs()))
	e := newEar()
	var logged buffer
	start(t, options(c.ListenAddrs()), e, logger(&logged))
	e.untilAttached(t)
	var healed atomic.Bool
	serve(c, []batch{{base: 0, last: 0, records: []int64{0}}}, func(b []byte) {
		if !healed.Load() {
			b[len(b)-1] ^= 1
		}
	})
	logged.until(t, "crc32", 1)
	// The hand-made answers leave partition 1 out of joint requests, so it
	// can only be served in one of its own.
	put(t, p, 1, "other")
	all := e.untilRecord(t, "other")
	if len(values(all)) != 1 {
		t.Errorf("heard\n%s", lines(all))
	}
	healed.Store(true)
	all = e.untilRecord(t, "0")
	if count(all, "lost") != 1 {
		t.Errorf("heard\n%s", lines(all))
	}
}

// Committed, aborted and open transactions of real producers.
func TestTransactions(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, topic))
	e := newEar()
	start(t, options(c.ListenAddrs()), e, quiet())
	e.untilAttached(t)
	transact := func(id string, end kgo.TransactionEndTry, values ...string) {
		t.Helper()
		cl := other(t, c.ListenAddrs(), kgo.TransactionalID(id))
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if err := cl.ProduceSync(within(t), &kgo.Record{Value: []byte(v)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := cl.EndTransaction(within(t), end); err != nil {
			t.Fatal(err)
		}
	}
	transact("a", kgo.TryCommit, "c1", "c2")
	transact("a", kgo.TryAbort, "a1", "a2")
	transact("b", kgo.TryAbort, "a3")
	transact("a", kgo.TryCommit, "c3")

	// An open transaction holds back what follows it, and comes when it
	// commits, also for a tail that attached meanwhile.
	open := other(t, c.ListenAddrs(), kgo.TransactionalID("c"))
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := open.ProduceSync(within(t), &kgo.Record{Value: []byte("o1")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	put(t, producer(t, options(c.ListenAddrs())), 0, "plain")
	second := newEar()
	start(t, options(c.ListenAddrs()), second, quiet())
	second.untilAttached(t)
	all := e.untilRecord(t, "c3")
	if index(all, "plain") >= 0 {
		t.Errorf("heard beyond an open transaction:\n%s", lines(all))
	}
	if err := open.EndTransaction(within(t), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	all = e.untilRecord(t, "plain")
	if got := strings.Join(values(all), " "); got != "c1 c2 c3 o1 plain" || count(all, "lost") != 1 {
		t.Errorf("heard\n%s", lines(all))
	}
	all = second.untilRecord(t, "plain")
	if got := strings.Join(values(all), " "); got != "o1 plain" {
		t.Errorf("the second heard\n%s", lines(all))
	}
}

// A partition whose fetches fail does not keep another from being read.
func TestErrorOfOnePartition(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.SeedTopics(2, topic))
	p := producer(t, options(c.ListenAddrs()))
	e := newEar()
	start(t, options(c.ListenAddrs()), e, quiet())
	e.untilAttached(t)
	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Partitions: []int32{0}, Count: -1})
	for i := range 5 {
		put(t, p, 0, fmt.Sprint("held ", i))
		put(t, p, 1, fmt.Sprint("free ", i))
		e.untilRecord(t, fmt.Sprint("free ", i))
	}
	fault.Remove()
	if all := e.untilRecord(t, "held 4"); count(all, "lost") != 1 || count(all, "record") != 10 {
		t.Errorf("heard\n%s", lines(all))
	}
}
