package kafka

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

func TestStartIsLostThenAttachedThenRecords(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(3, topic))
	p := producer(t, options(c.ListenAddrs()))
	put(t, p, 0, "older", "old")
	e := newEar()
	// What is appended the moment the positions count as established comes.
	e.onAttached = func() { put(t, p, 0, "first") }
	tail := start(t, options(c.ListenAddrs()), e, quiet())
	e.untilRecord(t, "first")
	for i := range 3 {
		put(t, p, i, fmt.Sprint("a", i), fmt.Sprint("b", i))
	}
	for i := range 3 {
		e.untilRecord(t, fmt.Sprint("b", i))
	}
	all := e.untilRecord(t, "first")
	if got := lines(all[:2]); got != "lost started\nattached 3\n" {
		t.Errorf("began with\n%s", got)
	}
	// Before it comes what the log ended with, and nothing else of the past.
	if all[2].value != "old" || all[2].offset != 1 || all[3].value != "first" || index(all, "older") >= 0 {
		t.Errorf("heard\n%s", lines(all))
	}
	inOrder(t, all)
	if ok, why := tail.CaughtUp(); !ok {
		t.Errorf("not caught up: %s", why)
	}
	want := []int64{5, 2, 2}
	for i, pos := range tail.Positions() {
		if pos.Partition != i || pos.Next != want[i] || pos.Answered.IsZero() {
			t.Errorf("position %+v, want next %d", pos, want[i])
		}
	}
}

// inOrder checks that offsets of a partition follow each other between gaps.
func inOrder(t *testing.T, all []heard) {
	t.Helper()
	next := map[int]int64{}
	for _, h := range all {
		switch h.call {
		case "lost":
			clear(next)
		case "record":
			if n, ok := next[h.partition]; ok && h.offset < n {
				t.Errorf("partition %d: offset %d after %d", h.partition, h.offset, n-1)
			}
			next[h.partition] = h.offset + 1
		}
	}
}

func TestManyRecordsOfManyLeadersAllArrive(t *testing.T) {
	c := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(12, topic))
	opts := options(c.ListenAddrs())
	opts.PartitionMaxBytes, opts.FetchMaxBytes = 1000, 4000 // many turns
	p := producer(t, opts)
	e := newEar()
	start(t, opts, e, quiet())
	e.untilAttached(t)
	const each = 500
	var wg sync.WaitGroup
	for partition := range 12 {
		wg.Go(func() {
			for i := 0; i < each; i += 20 {
				var vs []string
				for j := range 20 {
					vs = append(vs, fmt.Sprintf("%d-%d-%s", partition, i+j, strings.Repeat("x", 100)))
				}
				put(t, p, partition, vs...)
			}
		})
	}
	wg.Wait()
	// On a busy machine the producer sends some of them twice. What the tail hands
	// over twice, it does out of order.
	different := func(all []heard) int {
		seen := map[string]bool{}
		for _, v := range values(all) {
			seen[v] = true
		}
		return len(seen)
	}
	inOrder(t, e.until(t, "all records", func(all []heard) bool { return len(all) >= 12*each && different(all) == 12*each }))
}

func TestCodecs(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, topic))
	e := newEar()
	start(t, options(c.ListenAddrs()), e, quiet())
	e.untilAttached(t)
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		opts := options(c.ListenAddrs())
		opts.Compression = codec
		put(t, producer(t, opts), 0, codec, strings.Repeat(codec, 10000))
		all := e.untilRecord(t, codec)
		_ = all
		e.untilRecord(t, strings.Repeat(codec, 10000))
	}
}

func TestBatchLargerThanTheLimit(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, topic))
	opts := options(c.ListenAddrs())
	opts.PartitionMaxBytes, opts.FetchMaxBytes = 100, 100
	opts.Compression = "none"
	p := producer(t, opts)
	e := newEar()
	start(t, opts, e, quiet())
	e.untilAttached(t)
	large := strings.Repeat("l", 1<<18)
	put(t, p, 0, large+"0")
	put(t, p, 1, large+"1", "after")
	e.untilRecord(t, large+"0")
	e.untilRecord(t, "after")
}

// A restart of the broker is no gap: the tail goes on where it was.
func TestBrokerRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := cluster(t, kfake.SeedTopics(2, topic), kfake.DataDir(dir))
	addr := c.ListenAddrs()
	p := producer(t, options(addr))
	e := newEar()
	var logged buffer
	start(t, options(addr), e, logger(&logged))
	e.untilAttached(t)
	put(t, p, 0, "before")
	e.untilRecord(t, "before")
	c.Close()
	logged.until(t, "does not serve", 1)
	var port int
	fmt.Sscanf(addr[0][strings.LastIndexByte(addr[0], ':')+1:], "%d", &port)
	cluster(t, kfake.Ports(port), kfake.DataDir(dir))
	put(t, p, 0, "after")
	all := e.untilRecord(t, "after")
	if count(all, "lost") != 1 {
		t.Errorf("a restart is no gap:\n%s", lines(all))
	}
	logged.until(t, "serves its partitions again", 1)
	if n := strings.Count(logged.String(), "does not serve"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, logged.String())
	}
}

func TestLeaderMoves(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(3, topic))
	move := func(partition, to int) {
		t.Helper()
		if err := c.MoveTopicPartition(topic, int32(partition), int32(to)); err != nil {
			t.Fatal(err)
		}
	}
	for partition := range 3 { // one fetcher for all, to begin with
		move(partition, 0)
	}
	p := producer(t, options(c.ListenAddrs()))
	e := newEar()
	start(t, options(c.ListenAddrs()), e, quiet())
	e.untilAttached(t)
	for i := range 2 {
		for partition := range 3 {
			move(partition, (partition+i)%3)
			put(t, p, partition, fmt.Sprintf("%d/%d", i, partition))
		}
	}
	for partition := range 3 {
		e.untilRecord(t, fmt.Sprintf("1/%d", partition))
	}
	all := e.untilRecord(t, "1/0")
	if count(all, "lost") != 1 || count(all, "record") != 6 {
		t.Errorf("heard\n%s", lines(all))
	}
	inOrder(t, all)
}

func TestKafkaAwayThenTopicMissing(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	addr := c.ListenAddrs()
	var port int
	fmt.Sscanf(addr[0][strings.LastIndexByte(addr[0], ':')+1:], "%d", &port)
	c.Close()
	e := newEar()
	var logged buffer
	tail := start(t, options(addr), e, logger(&logged))
	logged.until(t, "waiting for Kafka", 1)
	if ok, why := tail.CaughtUp(); ok || why == "" {
		t.Error("caught up with nothing")
	}
	cluster(t, kfake.Ports(port))
	logged.until(t, "create it, or start the relay", 1)
	p := producer(t, options(addr))
	if err := p.EnsureTopic(within(t), 4); err != nil {
		t.Fatal(err)
	}
	e.untilAttached(t)
	put(t, p, 3, "now")
	e.untilRecord(t, "now")
	for _, message := range []string{"waiting for Kafka", "create it"} {
		if n := strings.Count(logged.String(), message); n != 1 {
			t.Errorf("%q logged %d times:\n%s", message, n, logged.String())
		}
	}
}

// Run ends at once, whatever it waits for, and leaves nothing behind.
func TestRunEndsAtOnce(t *testing.T) {
	for name, addr := range map[string]string{
		"following": cluster(t, kfake.SeedTopics(2, topic)).ListenAddrs()[0],
		"away":      "127.0.0.1:1",
	} {
		t.Run(name, func(t *testing.T) {
			e := newEar()
			endsAtOnce(t, addr, e, func() {
				e.until(t, "a start", func(all []heard) bool { return len(all) == 2 || name == "away" && len(all) == 1 })
			})
		})
	}
	t.Run("silent", func(t *testing.T) {
		addr, asked := silent(t)
		endsAtOnce(t, addr, newEar(), func() { <-asked })
	})
}

func endsAtOnce(t *testing.T, addr string, e *ear, wait func()) {
	t.Helper()
	opts := options([]string{addr})
	opts.DialTimeout, opts.MaxWait = deadline, deadline // what it must not wait for
	tail, err := NewTail(opts, e, quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- tail.Run(ctx) }()
	wait()
	cancel()
	late := time.NewTimer(deadline / 2)
	defer late.Stop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-late.C:
		t.Fatal("still running")
	}
}

// buffer is a log that can be waited on.
type buffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *buffer) until(t testing.TB, message string, n int) {
	t.Helper()
	late := time.NewTimer(deadline)
	defer late.Stop()
	for {
		b.mu.Lock()
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		all, changed := b.b.String(), b.changed
		b.mu.Unlock()
		if strings.Count(all, message) >= n {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("waited for %q, logged:\n%s", message, all)
		}
	}
}

// The one broker that was configured goes away, and then the leaders move.
func TestBootstrapBrokerGoesAway(t *testing.T) {
	t.Parallel()
	var phones switchboard
	c := cluster(t, kfake.NumBrokers(3), kfake.SeedTopics(2, topic), kfake.ListenFn(phones.listen))
	for partition := range int32(2) {
		if err := c.MoveTopicPartition(topic, partition, 1); err != nil {
			t.Fatal(err)
		}
	}
	c0 := c.ListenAddrs()[0]
	p := producer(t, options([]string{c0}))
	e := newEar()
	start(t, options([]string{c0}), e, quiet())
	e.untilAttached(t)
	put(t, p, 0, "one")
	e.untilRecord(t, "one")
	if err := c.RemoveNode(0); err != nil {
		t.Fatal(err)
	}
	phones.hangUp(c0)
	for partition := range int32(2) {
		if err := c.MoveTopicPartition(topic, partition, 2); err != nil {
			t.Fatal(err)
		}
	}
	put(t, p, 0, "two")
	if all := e.untilRecord(t, "two"); count(all, "lost") != 1 {
		t.Errorf("heard\n%s", lines(all))
	}
	if _, _, err := c.AddNode(7, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.MoveTopicPartition(topic, 1, 7); err != nil {
		t.Fatal(err)
	}
	put(t, p, 1, "three")
	if all := e.untilRecord(t, "three"); count(all, "lost") != 1 {
		t.Errorf("heard\n%s", lines(all))
	}
}
