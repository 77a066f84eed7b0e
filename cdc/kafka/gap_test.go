package kafka

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// hold makes every fetch fail until the returned function is called: the tail
// falls behind.
func hold(t *testing.T, c *kfake.Cluster) (release func()) {
	t.Helper()
	fault := c.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Err: kerr.NotLeaderForPartition, Count: -1,
	})
	if err := fault.Wait(within(t), 1); err != nil {
		t.Fatal(err)
	}
	return fault.Remove
}

// scene is a tail that has read two records of partition 0 of a cluster.
type scene struct {
	*kfake.Cluster
	*ear
	p    *Producer
	tail *Tail
}

func newScene(t *testing.T, opts ...kfake.Opt) *scene {
	t.Helper()
	c := cluster(t, append([]kfake.Opt{kfake.SeedTopics(2, topic)}, opts...)...)
	s := &scene{c, newEar(), producer(t, options(c.ListenAddrs())), nil}
	s.tail = start(t, options(c.ListenAddrs()), s.ear, quiet())
	s.untilAttached(t)
	put(t, s.p, 0, "one", "two")
	s.untilRecord(t, "two")
	return s
}

// recovers checks that the order of a gap was kept, that the records behind it
// come, and that it was counted.
func (s *scene) recovers(t *testing.T, reason string, partitions int) {
	t.Helper()
	s.untilLost(t, reason)
	put(t, s.p, 0, "after")
	all := s.untilRecord(t, "after")
	lost, ok := 0, false
	for i, h := range all {
		if h.call != "lost" {
			continue
		}
		if lost++; h.reason == reason {
			ok = all[i+1].call == "attached" && all[i+1].partition == partitions
		}
	}
	if !ok || lost != 2 {
		t.Errorf("heard\n%s", lines(all))
	}
	if n := value(s.tail.metrics.gaps.WithLabelValues(reason)); n != 1 {
		t.Errorf("gap counted %v times", n)
	}
}

func TestLogCutUnderTheTail(t *testing.T) {
	s := newScene(t)
	release := hold(t, s.Cluster)
	put(t, s.p, 0, "missed", "kept")
	if err := s.DeleteRecords(topic, 0, 3); err != nil {
		t.Fatal(err)
	}
	release()
	s.recovers(t, outOfRange, 2)
}

func TestLogCutUpToThePositionIsNoGap(t *testing.T) {
	s := newScene(t)
	if err := s.DeleteRecords(topic, 0, 2); err != nil {
		t.Fatal(err)
	}
	put(t, s.p, 0, "three")
	if all := s.untilRecord(t, "three"); count(all, "lost") != 1 {
		t.Errorf("heard\n%s", lines(all))
	}
}

func TestPartitionsAdded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	grow(t, s.Cluster, topic, 5)
	s.recovers(t, partitionsAdded, 5)
	put(t, s.p, 4, "new partition")
	s.untilRecord(t, "new partition")
}

func recreate(t *testing.T, c *kfake.Cluster, partitions int32) {
	t.Helper()
	if err := c.DeleteTopic(topic); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic(topic, partitions, nil); err != nil {
		t.Fatal(err)
	}
}

func TestTopicGoneAndBack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if err := s.DeleteTopic(topic); err != nil {
		t.Fatal(err)
	}
	s.until(t, "lost", func(all []heard) bool {
		return all[len(all)-1].call == "lost" && all[len(all)-1].reason == topicGone
	})
	if ok, _ := s.tail.CaughtUp(); ok {
		t.Error("caught up with a topic that is gone")
	}
	if pos := s.tail.Positions(); len(pos) != 0 {
		t.Errorf("positions %v", pos)
	}
	if err := s.CreateTopic(topic, 2, nil); err != nil {
		t.Fatal(err)
	}
	s.recovers(t, topicGone, 2)
}

// The new topic has fewer records than the position, none at all included.
func TestTopicRecreatedShorter(t *testing.T) {
	for records := range 2 {
		t.Run(fmt.Sprint(records), func(t *testing.T) {
			s := newScene(t)
			release := hold(t, s.Cluster)
			recreate(t, s.Cluster, 2)
			for i := range records {
				put(t, s.p, 0, fmt.Sprint("unseen ", i))
			}
			release()
			s.recovers(t, outOfRange, 2)
		})
	}
}

func TestTopicRecreatedWithFewerPartitions(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	defer hold(t, s.Cluster)()
	recreate(t, s.Cluster, 1)
	s.untilLost(t, partitionsFewer)
}

// What the tail cannot see: the new log already reaches the old position. It
// goes on there, and it is for the applier to find that these records have
// another stream id.
func TestTopicRecreatedLongerIsLeftToTheApplier(t *testing.T) {
	s := newScene(t)
	release := hold(t, s.Cluster)
	recreate(t, s.Cluster, 2)
	put(t, s.p, 0, "other 0", "other 1", "other 2")
	release()
	all := s.untilRecord(t, "other 2")
	if count(all, "lost") != 1 || index(all, "other 1") >= 0 {
		t.Errorf("heard\n%s", lines(all))
	}
}

// Unless there was an election in the old log: epochs never fall in one.
func TestTopicRecreatedLongerAfterAnElection(t *testing.T) {
	s := newScene(t, kfake.NumBrokers(2))
	for range 2 { // each move is an election; end where the topic began
		if err := s.MoveTopicPartition(topic, 0, 1-s.LeaderFor(topic, 0)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s.p, 0, "three")
	s.untilRecord(t, "three")
	release := hold(t, s.Cluster)
	recreate(t, s.Cluster, 2)
	put(t, s.p, 0, "a", "b", "c", "d")
	release()
	s.recovers(t, epochBack, 2)
}

// slowEar stops in its first record until it may go on.
type slowEar struct {
	*ear
	once  sync.Once
	first chan struct{}
	goOn  chan struct{}
}

func (e *slowEar) Record(partition int, offset int64, key, value []byte) {
	e.once.Do(func() { close(e.first); <-e.goOn })
	e.ear.Record(partition, offset, key, value)
}

// The topic is made again while thousands of fetched records wait for the
// handler: none of them comes behind the gap, and of those that the new topic had
// before its end was known only the last.
func TestTopicRecreatedUnderFetchedRecords(t *testing.T) {
	t.Parallel()
	const records = 5000
	c := cluster(t, kfake.SeedTopics(1, topic))
	p := producer(t, options(c.ListenAddrs()))
	e := &slowEar{ear: newEar(), first: make(chan struct{}), goOn: make(chan struct{})}
	start(t, options(c.ListenAddrs()), e, quiet())
	e.untilAttached(t)
	old := make([]string, records)
	for i := range old {
		old[i] = fmt.Sprint("old ", i)
	}
	put(t, p, 0, old...)
	<-e.first
	recreate(t, c, 1)
	put(t, p, 0, "unseen", "last")
	close(e.goOn)
	e.untilLost(t, outOfRange)
	put(t, p, 0, "after")
	all := e.untilRecord(t, "after")
	gap := len(all)
	for i, h := range all {
		if h.call == "lost" && h.reason == outOfRange {
			gap = i
		}
	}
	if got := values(all[gap:]); !slices.Equal(got, []string{"last", "after"}) {
		t.Errorf("behind the gap came %q", got)
	}
	if n := count(all[:gap], "record"); n == 0 {
		t.Error("nothing had been fetched when the topic was made again")
	}
}

// marks lets the answers for partition 0 carry other marks.
func (s *scene) marks(t *testing.T, change func(*kmsg.FetchResponseTopicPartition)) {
	s.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.KeepControl()
		req := r.(*kmsg.FetchRequest)
		res := req.ResponseKind().(*kmsg.FetchResponse)
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic = topic
		handled := false
		for _, p := range req.Topics[0].Partitions {
			if p.Partition == 0 {
				rp := kmsg.NewFetchResponseTopicPartition()
				rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = 2, 2, 0
				rp.RecordBatches = []byte{}
				change(&rp)
				handled = rp.HighWatermark >= 0
				rt.Partitions = append(rt.Partitions, rp)
			}
		}
		res.Topics = append(res.Topics, rt)
		return res, nil, handled
	})
}

func TestLogStartBeyondThePosition(t *testing.T) {
	s := newScene(t)
	n := 0
	s.marks(t, func(p *kmsg.FetchResponseTopicPartition) {
		if n++; n > 1 {
			p.HighWatermark = -1 // no longer
			return
		}
		p.HighWatermark, p.LastStableOffset, p.LogStartOffset = 9, 9, 7
	})
	s.recovers(t, logCut, 2)
}

func TestLogStartGoesBack(t *testing.T) {
	s := newScene(t)
	n := 0
	s.marks(t, func(p *kmsg.FetchResponseTopicPartition) {
		switch n++; n {
		case 1:
			p.LogStartOffset = 1
		case 2:
			p.LogStartOffset = 0
		default:
			p.HighWatermark = -1
		}
	})
	s.recovers(t, logStartBack, 2)
}

// For a moment after an election a high watermark may lie behind the position.
func TestHighWatermarkBehindForAMomentIsNoGap(t *testing.T) {
	s := newScene(t)
	n := 0
	s.marks(t, func(p *kmsg.FetchResponseTopicPartition) {
		if n++; n > 3 {
			p.HighWatermark = -1
			return
		}
		p.HighWatermark, p.LastStableOffset = 1, 1
	})
	put(t, s.p, 0, "three")
	if all := s.untilRecord(t, "three"); count(all, "lost") != 1 {
		t.Errorf("heard\n%s", lines(all))
	}
}

func TestHighWatermarkStaysBehind(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.marks(t, func(p *kmsg.FetchResponseTopicPartition) {
		if ok, _ := s.tail.CaughtUp(); !ok {
			p.HighWatermark = -1
			return
		}
		p.HighWatermark, p.LastStableOffset = 1, 1
		if value(s.tail.metrics.gaps.WithLabelValues(logShort)) > 0 {
			p.HighWatermark = -1
		}
	})
	s.recovers(t, logShort, 2)
}

func TestMetrics(t *testing.T) {
	s := newScene(t)
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(s.tail); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	n := 0
	for _, f := range families {
		n += len(f.Metric)
	}
	if err != nil || n != 4+len(reasons) {
		t.Errorf("%d series, %v", n, err)
	}
	put(t, s.p, 1, "three") // counters move after the record was handed on
	s.untilRecord(t, "three")
	if got := value(s.tail.metrics.records); got < 2 {
		t.Errorf("%v records", got)
	}
}

func value(m prometheus.Metric) float64 {
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		return -1
	}
	return out.GetCounter().GetValue()
}
