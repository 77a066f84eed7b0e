package kafka

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	topic    = "changes"
	deadline = 20 * time.Second // of a wait that should never be reached
)

// heard is one call of the handler.
type heard struct {
	call      string // "lost", "attached", "record"
	reason    string
	partition int
	offset    int64
	value     string
}

func (h heard) String() string {
	switch h.call {
	case "lost":
		return "lost " + h.reason
	case "attached":
		return fmt.Sprintf("attached %d", h.partition)
	}
	return fmt.Sprintf("%d/%d %s", h.partition, h.offset, h.value)
}

// ear is a Handler that remembers what it heard.
type ear struct {
	onAttached func()

	mu      sync.Mutex
	all     []heard
	changed chan struct{}
}

func newEar() *ear { return &ear{changed: make(chan struct{})} }

func (e *ear) hear(h heard) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, h)
	close(e.changed)
	e.changed = make(chan struct{})
}

func (e *ear) Lost(reason string) { e.hear(heard{call: "lost", reason: reason}) }

func (e *ear) Attached(n int) {
	if e.onAttached != nil {
		e.onAttached()
	}
	e.hear(heard{call: "attached", partition: n})
}

func (e *ear) Record(partition int, offset int64, key, value []byte) {
	e.hear(heard{call: "record", partition: partition, offset: offset, value: string(value)})
}

// until waits for what was heard to meet cond, and returns it.
func (e *ear) until(t testing.TB, what string, cond func([]heard) bool) []heard {
	t.Helper()
	late := time.NewTimer(deadline)
	defer late.Stop()
	for {
		e.mu.Lock()
		all, changed := e.all[:len(e.all):len(e.all)], e.changed
		e.mu.Unlock()
		if cond(all) {
			return all
		}
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("waited for %s; heard:\n%s", what, lines(all))
		}
	}
}

func lines(all []heard) string {
	var b strings.Builder
	for _, h := range all {
		fmt.Fprintln(&b, h)
	}
	return b.String()
}

func (e *ear) untilRecord(t testing.TB, value string) []heard {
	t.Helper()
	return e.until(t, "record "+value, func(all []heard) bool { return index(all, value) >= 0 })
}

func (e *ear) untilLost(t testing.TB, reason string) []heard {
	t.Helper()
	return e.until(t, "lost "+reason+", then attached", func(all []heard) bool {
		lost := false
		for _, h := range all {
			lost = lost || h.call == "lost" && h.reason == reason
			if lost && h.call == "attached" {
				return true
			}
		}
		return false
	})
}

func (e *ear) untilAttached(t testing.TB) {
	t.Helper()
	e.until(t, "attached", func(all []heard) bool {
		return len(all) > 0 && all[len(all)-1].call != "lost"
	})
}

// values returns the records' values in the order heard.
func values(all []heard) []string {
	var out []string
	for _, h := range all {
		if h.call == "record" {
			out = append(out, h.value)
		}
	}
	return out
}

func index(all []heard, value string) int {
	for i, h := range all {
		if h.call == "record" && h.value == value {
			return i
		}
	}
	return -1
}

func count(all []heard, call string) int {
	n := 0
	for _, h := range all {
		if h.call == call {
			n++
		}
	}
	return n
}

func cluster(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func options(brokers []string) Options {
	return Options{Brokers: brokers, Topic: topic}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// start runs a tail until the test ends.
func start(t testing.TB, opts Options, h Handler, log *slog.Logger) *Tail {
	t.Helper()
	tail, err := NewTail(opts, h, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- tail.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return tail
}

func producer(t testing.TB, opts Options) *Producer {
	t.Helper()
	return producerThatLogs(t, opts, quiet())
}

func producerThatLogs(t testing.TB, opts Options, log *slog.Logger) *Producer {
	t.Helper()
	p, err := NewProducer(opts, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	return ctx
}

func put(t testing.TB, p *Producer, partition int, vs ...string) {
	t.Helper()
	var values [][]byte
	for _, v := range vs {
		values = append(values, []byte(v))
	}
	if err := p.Append(within(t), partition, values); err != nil {
		t.Fatal(err)
	}
}

// other returns a client of another make: transactions, other codecs, admin.
func other(t testing.TB, brokers []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(brokers...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.DefaultProduceTopic(topic),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
