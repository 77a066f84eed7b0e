package relay

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

// slotLog is a log that keeps a position and nothing else, as a replication
// slot does.
type slotLog struct {
	*memoryLog
	begin uint64 // overrides what was acknowledged, if greater
	state []byte
	marks []Mark // the first of each session
	first bool
}

func (l *slotLog) Poll(ctx context.Context, after proxy.Position) (*Batch, error) {
	b, err := l.memoryLog.Poll(ctx, after)
	if err != nil {
		return nil, err
	}
	b.Topic, b.State = 0, l.state
	b.Begin = proxy.Position{Commit: max(l.acked.Commit, l.begin, 1)}
	l.first = l.first || !after.Known()
	return b, nil
}

func (l *slotLog) Ack(ctx context.Context, done Mark) error {
	if l.first {
		l.marks, l.first = append(l.marks, done), false
		return nil
	}
	return l.memoryLog.Ack(ctx, done)
}

// killed runs a relay on what its log and topic hold until it has made n
// appends, and ends it in the middle of the next one: before or after the
// topic has the values.
func killed(t *testing.T, log Log, topic *memoryTopic, n int, after bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	count := func(when bool) func() error {
		return func() error {
			if when != after {
				return nil
			}
			if n--; n >= 0 {
				return nil
			}
			cancel()
			return errInjected
		}
	}
	before, behind := count(false), count(true)
	topic.mu.Lock()
	topic.fail = func(call string, _ int) error {
		if call != "append" {
			return nil
		}
		return before()
	}
	topic.lost = func(int) error { return behind() }
	topic.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- New(log, topic, slog.New(slog.DiscardHandler), Options{Slot: "s"}).Run(ctx) }()
	time.Sleep(time.Second)
	cancel()
	<-done
	topic.mu.Lock()
	topic.fail, topic.lost = func(string, int) error { return nil }, func(int) error { return nil }
	topic.mu.Unlock()
}

// Nothing but the topic tells which incarnation of it this is. A relay that is
// killed leaves changes behind the last checkpoint, or a checkpoint in some of
// the partitions:
//
//	1 a relay appends changes, is killed, and a partition ends with one
//	2 the next relay reads the ends: none tells the incarnation
//	3 it draws another, and every cache is empty
func TestKilledAnywhere(t *testing.T) {
	for n := range 12 {
		for _, after := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				log := &slotLog{memoryLog: newMemoryLog(), state: []byte("catalog")}
				topic := newMemoryTopic(3)
				log.write("users", "0")
				killed(t, log, topic, 1000, false) // the stream stands
				for i := 1; i < 5; i++ {
					log.write("users", fmt.Sprint(i))
				}
				killed(t, log, topic, n, after)
				killed(t, log, topic, 1000, false)
				wantAll(t, topic, log.memoryLog, 5)
				wantStreams(t, topic, 1)
				// Only between two checkpoints do partitions disagree.
				if s := string(log.marks[1].State); s != "catalog" {
					t.Errorf("killed in append %d, after %v: state %q", n, after, s)
				}
			})
		}
	}
}

func wantStreams(t *testing.T, topic *memoryTopic, n int) {
	t.Helper()
	streams := map[uint64]bool{}
	for p := range topic.partitions {
		for _, r := range topic.records(t, p) {
			streams[r.Stream] = true
		}
	}
	if len(streams) != n {
		t.Errorf("%d streams, want %d", len(streams), n)
	}
}

// Whoever moves a slot forward, or makes it anew, may have made a hole.
func TestLogThatForgot(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*slotLog, *memoryTopic)
		streams int
		state   string
	}{
		{"nothing", func(*slotLog, *memoryTopic) {}, 1, "catalog"},
		{"what was acknowledged", func(l *slotLog, _ *memoryTopic) { l.begin = l.acked.Commit }, 1, "catalog"},
		{"more", func(l *slotLog, _ *memoryTopic) { l.begin = l.acked.Commit + 1 }, 2, ""},
		{"more, and a change is in one partition", func(l *slotLog, topic *memoryTopic) {
			l.begin = l.acked.Commit + 1
			r := topic.records(t, 0)[0]
			r.Position, r.Checkpoint = proxy.Position{Commit: l.begin + 1}, nil
			r.Change = &event.Change{Table: "users", Op: event.Touch}
			topic.partitions[0] = append(topic.partitions[0], event.Append(nil, r))
			l.end = r.Position.Commit
		}, 2, ""},
		{"nothing, and the source is another", func(l *slotLog, _ *memoryTopic) { l.source.Started++ }, 2, ""},
		{"nothing, and a partition holds another state", func(_ *slotLog, topic *memoryTopic) {
			records := topic.records(t, 1)
			r := records[len(records)-1]
			r.Prev, r.Position.Seq = r.Position, r.Position.Seq+1
			r.Checkpoint.State = []byte("altered")
			topic.partitions[1] = append(topic.partitions[1], event.Append(nil, r))
		}, 1, ""},
		{"nothing, and a partition holds nothing", func(_ *slotLog, topic *memoryTopic) { topic.partitions[1] = nil }, 2, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &slotLog{memoryLog: newMemoryLog(), state: []byte("catalog")}
				topic := newMemoryTopic(2)
				log.write("users", "1")
				log.write("users", "2")
				killed(t, log, topic, 1000, false)
				test.change(log, topic)
				killed(t, log, topic, 1000, false)
				wantStreams(t, topic, test.streams)
				if s := string(log.marks[1].State); s != test.state {
					t.Errorf("state %q, want %q", s, test.state)
				}
				if log.marks[0].State != nil || log.marks[0].Topic == 0 || log.marks[0].Through.Known() {
					t.Errorf("the first session began with %+v", log.marks[0])
				}
			})
		})
	}
}
