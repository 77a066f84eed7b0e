package part

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request is the beginning of a Kafka client's first request, and more.
func request(client string, more string) []byte {
	head := []byte{0, 0, 0, 99, 0, 18, 0, 0, 0, 0, 0, 1, 0, byte(len(client))}
	return append(append(head, client...), more...)
}

// A held way holds one client's bytes and no other's.
func TestFrontKnowsWhoComes(t *testing.T) {
	broker, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	f, err := NewFront()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.To(broker.Addr().String())
	held, err := f.Way("node-1")
	if err != nil {
		t.Fatal(err)
	}
	held.Hold()
	arrived := make(chan string, 2)
	go func() {
		for range 2 {
			c, err := broker.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 14+len("node-0")+len("rest"))
				n, _ := io.ReadFull(c, b)
				arrived <- string(b[14:n])
			}()
		}
	}()
	for _, who := range []string{"node-1", "node-0"} {
		c, err := net.Dial("tcp", f.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(request(who, "rest")); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-arrived; got != "node-0rest" {
		t.Errorf("through came %q", got)
	}
	held.Pass()
	if got := <-arrived; got != "node-1rest" {
		t.Errorf("then came %q", got)
	}
}

func TestIntroduction(t *testing.T) {
	whole := request("relay", "x")
	head, name, err := introduction(bytes.NewReader(whole))
	if err != nil || name != "relay" || !bytes.Equal(head, whole[:len(whole)-1]) {
		t.Errorf("%q, %q, %v", head, name, err)
	}
	nobody := slices.Concat(whole[:12], []byte{255, 255})
	if _, name, err := introduction(bytes.NewReader(nobody)); err != nil || name != "" {
		t.Errorf("without a name: %q, %v", name, err)
	}
	if _, _, err := introduction(bytes.NewReader(whole[:10])); err == nil {
		t.Error("half an introduction is none")
	}
}

// topicLog is a topic in memory.
type topicLog struct{ appended map[int][][]byte }

func (l *topicLog) Partitions(context.Context) (int, error)                      { return 2, nil }
func (l *topicLog) Last(context.Context, int, func([]byte) bool) ([]byte, error) { return nil, nil }
func (l *topicLog) Append(_ context.Context, p int, values [][]byte) error {
	l.appended[p] = append(l.appended[p], values...)
	return nil
}

func change(seq uint64) []byte {
	return event.Append(nil, &event.Record{Position: proxy.Position{Commit: seq}, Change: &event.Change{Table: "t", Op: event.Truncate}})
}

func checkpoint(at proxy.Time) []byte {
	s := event.StreamID{Partitions: 2}
	return event.Append(nil, &event.Record{Stream: s.Hash(), Checkpoint: &event.Checkpoint{T: at, Stream: s}})
}

func told(t *testing.T, orders map[string]order, line string) {
	t.Helper()
	if err := carryOut(t.Context(), orders, line); err != nil {
		t.Fatal(err)
	}
}

func TestBadTopic(t *testing.T) {
	values := [][]byte{change(9), change(10), checkpoint(1000)}
	later := checkpoint(1005)
	for _, test := range []struct {
		order     string
		partition int
		want      [][]byte
	}{
		{"delay 0", 0, values},
		{"twice 1", 0, slices.Concat(values, values)},
		{"lose 1", 0, values[:2]},
		{"lose 2", 0, values},
		{"holes 1", 1, [][]byte{values[0], values[2]}},
		{"ahead 5", 1, [][]byte{values[0], values[1], later}},
	} {
		log := &topicLog{appended: map[int][][]byte{}}
		bad := &badTopic{}
		topic := bad.over(log)
		told(t, bad.orders(), test.order)
		if err := topic.Append(t.Context(), test.partition, values); err != nil {
			t.Fatal(err)
		}
		if got := log.appended[test.partition]; !slices.EqualFunc(got, test.want, bytes.Equal) {
			t.Errorf("%s: %d records, want %d", test.order, len(got), len(test.want))
		}
	}
}

func TestBadTopicReplaysWhatItAppended(t *testing.T) {
	log := &topicLog{appended: map[int][][]byte{}}
	bad := &badTopic{}
	topic := bad.over(log)
	for seq := range uint64(3) {
		if err := topic.Append(t.Context(), int(seq%2), [][]byte{change(seq)}); err != nil {
			t.Fatal(err)
		}
	}
	told(t, bad.orders(), "replay 0")
	want := [][]byte{change(0), change(2), change(0), change(2)}
	if !slices.EqualFunc(log.appended[0], want, bytes.Equal) || len(log.appended[1]) != 2 {
		t.Errorf("%d and %d records", len(log.appended[0]), len(log.appended[1]))
	}
}

func TestBadTopicDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &badTopic{}
		topic := bad.over(&topicLog{appended: map[int][][]byte{}})
		told(t, bad.orders(), "delay 3000000000")
		start := time.Now()
		if err := topic.Append(t.Context(), 0, [][]byte{change(1)}); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// asked is a source that answers at once.
type asked struct{ calls int }

func (a *asked) Load(context.Context, []proxy.Request, []proxy.Result) { a.calls++ }
func (a *asked) Apply(context.Context, []proxy.Write, []proxy.Written) { a.calls++ }

func TestBadSourceWritesDownWhatItIsAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fills.jsonl")
	fills, err := openFills(path, "node-0", 3)
	if err != nil {
		t.Fatal(err)
	}
	real := &asked{}
	bad := &badSource{fills: fills}
	source := bad.over(real)
	results := make([]proxy.Result, 1)
	reqs := []proxy.Request{{Key: proxy.Key{Text: []byte("row:1")}}}
	source.Load(t.Context(), reqs, results)
	bad.refuses.Store(true)
	source.Load(t.Context(), reqs, results)
	if !errors.Is(results[0].Err, proxy.ErrUnavailable) || real.calls != 1 {
		t.Errorf("refused: %v, asked %d times", results[0].Err, real.calls)
	}
	if err := fills.close(); err != nil {
		t.Fatal(err)
	}
	got := linesOf(t, path)
	if len(got) != 2 || got[0].Key != "row:1" || got[0].Node != "node-0" || got[0].Life != 3 || got[0].Failed || !got[1].Failed || got[0].Sent == 0 || got[0].Ended < got[0].Sent {
		t.Errorf("%+v", got)
	}
}

func linesOf(t *testing.T, path string) []history.Fill {
	t.Helper()
	var out []history.Fill
	d := history.NewDecoder()
	for line := range strings.Lines(read(t, path)) {
		r, err := d.Line([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *r.(*history.Fill))
	}
	return out
}

func TestBadSourceIsSlowAndLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		real := &asked{}
		bad := &badSource{Source: real}
		bad.slow.Store(int64(time.Second))
		bad.acks.Store(int64(2 * time.Second))
		start := time.Now()
		bad.Apply(t.Context(), nil, nil)
		if took := time.Since(start); took != 3*time.Second || real.calls != 1 {
			t.Errorf("%v, %d calls", took, real.calls)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		written := make([]proxy.Written, 1)
		bad.Apply(ctx, nil, written)
		if !errors.Is(written[0].Err, proxy.ErrUnavailable) || real.calls != 1 {
			t.Errorf("in too little time: %v, %d calls", written[0].Err, real.calls)
		}
	})
}

// Orders are answered one by one, also those that cannot be carried out.
func TestListen(t *testing.T) {
	var out bytes.Buffer
	listen(t.Context(), map[string]order{
		"add": func(_ context.Context, n int64) error {
			if n < 0 {
				return errors.New("less\nthan nothing")
			}
			return nil
		},
	}, strings.NewReader("add 1\nadd -1\nadd x\nother 1\n"), &out)
	want := "done\nless than nothing\n\"add x\" is no order\n\"other 1\" is no order\n"
	if out.String() != want {
		t.Errorf("%q", &out)
	}
}

func TestSettingsAreAConfiguration(t *testing.T) {
	c, err := config.Parse("node-0.yaml", settings("{sqlite: {path: conform.db}}", "127.0.0.1:9", "node-0", &Options{Relay: "slot: other"}, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.UseCases) != len(UseCases()) || c.Stream.Kafka.ClientID != "node-0" || !c.Tier.Alone() {
		t.Errorf("%+v", c)
	}
	for i, u := range UseCases() {
		if time.Duration(c.UseCases[i].Bound) != u.Bound || c.UseCases[i].Name != u.Name {
			t.Errorf("%+v is configured as %+v", u, c.UseCases[i])
		}
	}
}

// A process says where it serves, and ends with its input.
func TestPartEndsWithItsInput(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "broker.yaml"), settings(fmt.Sprintf("{sqlite: {path: %q}}", filepath.Join(dir, "conform.db")), "127.0.0.1:9", "broker", &Options{}, nil))
	inside, input := io.Pipe()
	output, outside := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(t.Context(), Part{Kind: "broker", Config: filepath.Join(dir, "broker.yaml"), Front: "127.0.0.1:9"}, inside, outside, nil)
	}()
	lines := bufio.NewReader(output)
	if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "serves 127.0.0.1:") {
		t.Fatalf("%q, %v", line, err)
	}
	for _, order := range []string{"forget 0\n", "recreate 4\n"} {
		if _, err := io.WriteString(input, order); err != nil {
			t.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); err != nil || line != "done\n" {
			t.Errorf("%q: %q, %v", order, line, err)
		}
	}
	input.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
