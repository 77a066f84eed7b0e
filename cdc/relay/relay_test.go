package relay

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

func TestRowsKeepTheirPartition(t *testing.T) {
	// Part of the format: a relay of another version must agree.
	for _, test := range []struct {
		table, row string
		of, want   int
	}{{"users", "1", 1, 0}, {"users", "1", 12, 0}, {"users", "2", 12, 9}, {"user", "s1", 12, 10}} {
		if got := partitionOf(test.table, []byte(test.row), test.of); got != test.want {
			t.Errorf("%s %s: partition %d, want %d", test.table, test.row, got, test.want)
		}
	}
}

func TestShips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, topic := newMemoryLog(), newMemoryTopic(3)
		for i := range 5 {
			log.write("users", fmt.Sprint(i))
		}
		log.write("users", "")
		log.write("users", "0")
		stop := run(t, log, topic)
		time.Sleep(time.Second)
		log.write("users", "9")
		time.Sleep(time.Second)
		stop()
		var all []string
		for p := range 3 {
			changes, checkpoints := shipped(t, topic.records(t, p))
			all = append(all, changes...)
			if !slices.Contains(changes, "users@6") {
				t.Errorf("partition %d has no change of the whole table: %q", p, changes)
			}
			// At most one each 100 ms, and not much fewer.
			if n := len(checkpoints); n < 15 || n > 21 {
				t.Errorf("partition %d has %d checkpoints", p, n)
			}
			for _, c := range checkpoints {
				if c.Checkpoint.Stream.Hash() != c.Stream || c.Checkpoint.Stream.Partitions != 3 || c.Checkpoint.Stream.Source != log.source || c.Checkpoint.Nonce == 0 {
					t.Errorf("checkpoint %+v", c.Checkpoint)
				}
			}
		}
		slices.Sort(all)
		want := []string{"users:0@1", "users:0@7", "users:1@2", "users:2@3", "users:3@4", "users:4@5", "users:9@8", "users@6", "users@6", "users@6"}
		if !slices.Equal(all, want) {
			t.Errorf("shipped %q, want %q", all, want)
		}
		if log.acked.Commit != 8 {
			t.Errorf("acknowledged %v", log.acked)
		}
	})
}

// A partition that does not answer holds up every checkpoint, and the log
// keeps what is not there yet.
func TestPartitionAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, topic := newMemoryLog(), newMemoryTopic(2)
		stop := run(t, log, topic)
		time.Sleep(time.Second)
		topic.mu.Lock()
		topic.fail = func(call string, p int) error {
			if call == "append" && p == 1 {
				return errInjected
			}
			return nil
		}
		topic.mu.Unlock()
		away := proxy.Time(time.Now().UnixNano())
		for i := range 10 {
			log.write("users", fmt.Sprint(i))
		}
		time.Sleep(5 * time.Second)
		for p := range 2 {
			_, checkpoints := shipped(t, topic.records(t, p))
			if last := checkpoints[len(checkpoints)-1].Checkpoint.T; last > away {
				t.Errorf("partition %d has a checkpoint of %v after the other one went away", p, last.Sub(away))
			}
		}
		if len(log.changes) != 10 {
			t.Errorf("the log holds %d changes of 10", len(log.changes))
		}
		topic.mu.Lock()
		topic.fail = func(string, int) error { return nil }
		topic.mu.Unlock()
		time.Sleep(2 * time.Second)
		stop()
		wantAll(t, topic, log, 10)
	})
}

// A database whose clock is set back by an hour goes on to have checkpoints, and
// its log is not kept for that hour.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, topic := newMemoryLog(), newMemoryTopic(2)
		stop := run(t, log, topic)
		time.Sleep(time.Second)
		log.mu.Lock()
		log.behind = time.Hour
		log.mu.Unlock()
		log.write("users", "1")
		time.Sleep(time.Second)
		set := proxy.Time(time.Now().Add(-time.Hour - time.Second/2).UnixNano())
		stop()
		for p := range 2 {
			_, checkpoints := shipped(t, topic.records(t, p))
			if last := checkpoints[len(checkpoints)-1].Checkpoint.T; last < set || last > set.Add(time.Second) {
				t.Errorf("partition %d: the last checkpoint is %v off", p, last.Sub(set))
			}
		}
		if log.acked.Commit != 1 {
			t.Errorf("acknowledged %v", log.acked)
		}
	})
}

// What keeps a relay from shipping can be asked for, from before it begins
// until it ships again.
func TestProblemIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, topic := newMemoryLog(), newMemoryTopic(1)
		r := New(log, topic, slog.New(slog.DiscardHandler), Options{Slot: "s"})
		if got := r.Problem(); got != notBegun {
			t.Errorf("before it begins: %q", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		for _, step := range []struct {
			fail error
			want string
		}{{nil, ""}, {errInjected, errInjected.Error()}, {nil, ""}} {
			log.mu.Lock()
			log.fail = func(string) error { return step.fail }
			log.mu.Unlock()
			time.Sleep(5 * time.Second)
			if got := r.Problem(); got != step.want {
				t.Errorf("while the log says %v: %q", step.fail, got)
			}
		}
		cancel()
		<-done
	})
}

// wantAll checks that each of n changes of single rows is there exactly once.
func wantAll(t *testing.T, topic *memoryTopic, log *memoryLog, n int) {
	t.Helper()
	seen := map[string]int{}
	for p := range topic.partitions {
		changes, _ := shipped(t, topic.records(t, p))
		for _, c := range changes {
			seen[c[strings.Index(c, "@"):]]++
		}
	}
	for i := 1; i <= n; i++ {
		if seen[fmt.Sprintf("@%d", i)] != 1 {
			t.Errorf("change %d is there %d times", i, seen[fmt.Sprintf("@%d", i)])
		}
	}
	if len(log.changes) != 0 {
		t.Errorf("the log still holds %d changes", len(log.changes))
	}
}

// Kills, lost replies and errors anywhere lose nothing, reorder nothing and
// keep the stream: random ones, while changes come in.
func TestFaults(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) { runFaults(t, seed) })
	}
}

func runFaults(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	log, topic := newMemoryLog(), newMemoryTopic(1+rng.IntN(4))
	log.limit = 1 + rng.IntN(5)
	// Each fake draws under its own lock, from its own numbers.
	sometimes := func(rng *rand.Rand) func() error {
		return func() error {
			if rng.IntN(8) == 0 {
				return errInjected
			}
			return nil
		}
	}
	ofLog, ofTopic := sometimes(rand.New(rand.NewPCG(seed, 3))), sometimes(rand.New(rand.NewPCG(seed, 4)))
	log.fail = func(string) error { return ofLog() }
	topic.fail = func(string, int) error { return ofTopic() }
	topic.lost = func(int) error { return ofTopic() }
	const n = 60
	written := 0
	visible := map[uint64]proxy.Time{}
	stop := run(t, log, topic)
	for range 20 {
		for range 3 {
			written++
			log.write("users", fmt.Sprint(written%7))
			visible[uint64(written)] = proxy.Time(time.Now().UnixNano())
		}
		time.Sleep(50 * time.Millisecond)
		if written%4 == 0 {
			stop()
			stop = run(t, log, topic)
		}
	}
	log.mu.Lock()
	log.fail = func(string) error { return nil }
	log.mu.Unlock()
	topic.mu.Lock()
	topic.fail, topic.lost = func(string, int) error { return nil }, func(int) error { return nil }
	topic.mu.Unlock()
	time.Sleep(5 * time.Second)
	stop()
	wantAll(t, topic, log, n)
	streams := map[uint64]bool{}
	for p := range topic.partitions {
		records := topic.records(t, p)
		honest(t, records, visible)
		for _, r := range records {
			streams[r.Stream] = true
		}
	}
	if len(streams) != 1 {
		t.Errorf("seed %d: %d streams", seed, len(streams))
	}
	if t.Failed() {
		t.Fatalf("seed %d", seed)
	}
}

// honest checks each checkpoint: nothing that was visible at its T comes after
// it. And each commit time: the change was not visible then.
func honest(t *testing.T, records []*event.Record, visible map[uint64]proxy.Time) {
	t.Helper()
	latest := proxy.Never
	mark := proxy.Position{}
	for _, r := range records {
		if r.Position.Compare(mark) <= 0 {
			continue
		}
		mark = r.Position
		if r.Checkpoint != nil {
			latest = max(latest, r.Checkpoint.T)
			continue
		}
		if at := visible[r.Position.Commit]; at < latest {
			t.Errorf("change %d was visible %v before a checkpoint in front of it", r.Position.Commit, latest.Sub(at))
		}
		if at := visible[r.Position.Commit]; r.Change.Commit > at {
			t.Errorf("change %d has a commit time %v after it was visible", r.Position.Commit, r.Change.Commit.Sub(at))
		}
	}
}

func TestStreamIDs(t *testing.T) {
	// last returns the stream id of the newest checkpoint.
	last := func(t *testing.T, topic *memoryTopic) event.StreamID {
		t.Helper()
		_, checkpoints := shipped(t, topic.records(t, 0))
		return checkpoints[len(checkpoints)-1].Checkpoint.Stream
	}
	for _, test := range []struct {
		name   string
		change func(log *memoryLog, topic *memoryTopic)
		same   bool
	}{
		{"a restart", func(*memoryLog, *memoryTopic) {}, true},
		{"the log forgot the topic", func(log *memoryLog, _ *memoryTopic) { log.topic = 0 }, true},
		{"more partitions", func(_ *memoryLog, topic *memoryTopic) { topic.partitions = append(topic.partitions, nil) }, false},
		{"an empty topic", func(_ *memoryLog, topic *memoryTopic) { topic.partitions = make([][][]byte, 2) }, false},
		{"another history", func(log *memoryLog, _ *memoryTopic) { log.source.Timeline++ }, false},
		{"a restored backup", func(log *memoryLog, _ *memoryTopic) { log.end -= 2 }, false},
	} {
		for _, running := range []bool{false, true} {
			if running && test.name == "an empty topic" {
				continue // a relay that notices nothing goes on; whoever reads the topic sees the hole
			}
			t.Run(fmt.Sprintf("%s, running %v", test.name, running), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					log, topic := newMemoryLog(), newMemoryTopic(2)
					log.write("users", "1")
					log.write("users", "2")
					log.write("users", "3")
					stop := run(t, log, topic)
					time.Sleep(time.Second)
					before := last(t, topic)
					if !running {
						stop()
					}
					log.mu.Lock()
					topic.mu.Lock()
					test.change(log, topic)
					log.mu.Unlock()
					topic.mu.Unlock()
					if running && test.name == "a restored backup" {
						stop() // seen by the log itself
						running = false
					}
					if !running {
						stop = run(t, log, topic)
					}
					time.Sleep(3 * time.Second)
					log.write("users", "4")
					time.Sleep(time.Second)
					stop()
					after := last(t, topic)
					if (before == after) != test.same {
						t.Errorf("stream %+v after %+v", after, before)
					}
					if len(log.changes) != 0 {
						t.Errorf("the log still holds %d changes", len(log.changes))
					}
				})
			})
		}
	}
}

// A topic that takes an append and never answers is asked again, and the log
// has one line about it, and one when it is over.
func TestTopicThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		log, topic := newMemoryLog(), newMemoryTopic(2)
		r := New(log, &hangingTopic{memoryTopic: topic, until: time.Now().Add(time.Minute)},
			slog.New(slog.NewTextHandler(&lines, nil)), Options{Slot: "s"})
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(r)
		log.write("users", "1")
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(30 * time.Second)
		if v := gauge(t, registry, "freshet_relay_lag_seconds"); !math.IsInf(v, 1) {
			t.Errorf("lag %v before any checkpoint", v)
		}
		time.Sleep(time.Minute)
		if v := gauge(t, registry, "freshet_relay_lag_seconds"); v > 1 {
			t.Errorf("lag %v", v)
		}
		if v := gauge(t, registry, "freshet_relay_errors_total"); v < 2 {
			t.Errorf("%v errors", v)
		}
		cancel()
		<-done
		if n := strings.Count(lines.String(), "\n"); n != 2 || !strings.Contains(lines.String(), "the relay goes on") {
			t.Errorf("the log says %s", lines.String())
		}
		wantAll(t, topic, log, 1)
	})
}

// A topic that does not even say how many partitions it has is a problem that
// is told, and not waited for in silence.
func TestTopicThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(newMemoryLog(), awayTopic{newMemoryTopic(1)}, slog.New(slog.DiscardHandler), Options{Slot: "s"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(15 * time.Second)
		if got := r.Problem(); got != context.DeadlineExceeded.Error() {
			t.Errorf("the problem is %q", got)
		}
		cancel()
		<-done
	})
}

type awayTopic struct{ *memoryTopic }

func (awayTopic) Partitions(ctx context.Context) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

type hangingTopic struct {
	*memoryTopic
	until time.Time
}

func (t *hangingTopic) Append(ctx context.Context, partition int, values [][]byte) error {
	if time.Now().Before(t.until) {
		<-ctx.Done()
		return ctx.Err()
	}
	return t.memoryTopic.Append(ctx, partition, values)
}

// gauge returns the value of a metric without labels.
func gauge(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.Metric[0].GetGauge().GetValue() + f.Metric[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
