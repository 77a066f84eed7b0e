package kafka

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/twmb/franz-go/pkg/kfake"
)

func idleTail(t *testing.T) *Tail {
	t.Helper()
	tail, err := NewTail(options([]string{"127.0.0.1:1"}), newEar(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tail.client.close)
	return tail
}

// A fetch that fails has the layout looked at, without waiting for its hour.
func TestFailedFetchRaisesDoubt(t *testing.T) {
	doubt := make(chan struct{}, 1)
	f := newFetcher(idleTail(t), 1, []*partition{newPartition(0, 0, false)}, doubt)
	ctx, cancel := context.WithCancel(within(t))
	done := make(chan error)
	go func() { done <- f.run(ctx) }()
	for range 2 {
		select {
		case <-doubt:
		case <-ctx.Done():
			t.Fatal("no doubt")
		}
	}
	cancel()
	<-done
}

// The fetchers are grouped anew when a leader moves, and only then.
func TestWatchSeesLeadersMove(t *testing.T) {
	c := cluster(t, kfake.NumBrokers(2), kfake.SeedTopics(2, topic))
	for partition := range int32(2) {
		if err := c.MoveTopicPartition(topic, partition, 0); err != nil {
			t.Fatal(err)
		}
	}
	client, err := newClient(options(c.ListenAddrs()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.close)
	w := &watch{client: client, counts: []int{2}}
	before, err := w.look(within(t))
	if err != nil || !slices.Equal(before, []int32{0, 0}) {
		t.Fatal(before, err)
	}
	if err := c.MoveTopicPartition(topic, 1, 1); err != nil {
		t.Fatal(err)
	}
	after, err := w.moved(within(t), before, nil)
	if err != nil || !slices.Equal(after, []int32{0, 1}) {
		t.Error(after, err)
	}
}

func TestTally(t *testing.T) {
	parts := []*partition{newPartition(0, 0, false), newPartition(1, 0, false), newPartition(2, 0, false)}
	f := newFetcher(idleTail(t), 1, parts, nil)
	for i := range aloneAfter {
		if asked, _ := f.next(); len(asked) != 3 {
			t.Fatalf("after %d failures: %d partitions in a request", i, len(asked))
		}
		f.tally(io.ErrUnexpectedEOF)
	}
	if f.budget != f.tail.client.opts.FetchMaxBytes {
		t.Error("a broken connection is no matter of size")
	}
	for i := range 3 { // one clean turn
		if asked, wait := f.next(); len(asked) != 1 || wait > 50*time.Millisecond {
			t.Fatalf("request %d alone: %d partitions, wait %v", i, len(asked), wait)
		}
		f.tally(nil)
	}
	if asked, _ := f.next(); len(asked) != 3 {
		t.Error("never together again")
	}
	for range 20 {
		f.tally(context.DeadlineExceeded)
	}
	if f.budget != minBudget {
		t.Errorf("budget %d after many late answers", f.budget)
	}
	for range 20 {
		f.tally(nil)
	}
	if f.budget != f.tail.client.opts.FetchMaxBytes {
		t.Errorf("budget %d after many answers", f.budget)
	}
}

// Freshness is as of the moment a fetch was sent whose answer reached the end.
func TestFresh(t *testing.T) {
	p := newPartition(0, 5, false)
	sent := time.Unix(100, 0)
	behind := &fetch.ResponsePartition{HighWatermark: 6, LastStableOffset: 6}
	if err := p.take(behind, sent, sent, nil); !errors.Is(err, errNothing) {
		t.Errorf("nothing, though there is more: %v", err)
	}
	if pos := p.position(); !pos.Fresh.IsZero() || pos.Answered != sent || pos.End != 6 {
		t.Errorf("%+v", pos)
	}
	atEnd := &fetch.ResponsePartition{HighWatermark: 6, LastStableOffset: 5}
	if err := p.take(atEnd, sent.Add(1), sent, nil); err != nil {
		t.Error(err)
	}
	if pos := p.position(); pos.Fresh != sent.Add(1) || pos.Next != 5 {
		t.Errorf("%+v", pos)
	}
	failed := &fetch.ResponsePartition{ErrorCode: 6, HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1}
	if err := p.take(failed, sent.Add(2), sent, nil); classify(err) != retry {
		t.Errorf("error: %v", err)
	}
	if pos := p.position(); pos.Fresh != sent.Add(1) || pos.End != 5 {
		t.Errorf("%+v", pos)
	}
}
