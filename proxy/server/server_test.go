package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/command"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is a Source: one use case `key`, text to text.
type table struct {
	mu    sync.Mutex
	rows  map[string]row.Row
	delay time.Duration // of every Load
	boom  string        // a key that panics
}

var schema = &row.Schema{Columns: []string{"v"}}

func catalog(t testing.TB) *proxy.Catalog {
	t.Helper()
	m := &row.Mapping{
		Spec:    row.Spec{Name: "key", Table: "key", Key: []string{"k"}, Column: "v"},
		Columns: []row.KeyColumn{{Name: "k", Kind: row.KeyText}},
	}
	c, err := proxy.NewCatalog(m)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func encode(v []byte) row.Row {
	r, _ := row.Encode(schema, []row.Field{{Name: "v", Kind: row.Bytes, Value: v}})
	return r
}

func (s *table) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	if s.delay > 0 {
		select {
		case <-time.After(s.delay):
		case <-ctx.Done():
			for i := range results {
				results[i].Err = ctx.Err()
			}
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range reqs {
		if s.boom != "" && string(r.Key.Text) == s.boom {
			panic("boom")
		}
		results[i].Row = s.rows[string(r.Key.Text)]
	}
}

func (s *table) Apply(_ context.Context, ws []proxy.Write, written []proxy.Written) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows = map[string]row.Row{}
	}
	for i, w := range ws {
		key := string(w.Key.Text)
		_, written[i].Done = s.rows[key]
		delete(s.rows, key)
		if w.Op == proxy.Put {
			s.rows[key] = encode(w.Fields[0].Value)
		}
	}
}

type running struct {
	*Server
	addr string
	reg  *prometheus.Registry
	stop func()
}

// start runs a server on a port of its own until the test ends.
func start(t testing.TB, src proxy.Source, opts Options, listen ...net.Listener) *running {
	t.Helper()
	return startFor(t, nil, src, opts, listen...)
}

// startFor starts a server for users who must say who they are.
func startFor(t testing.TB, users command.Users, src proxy.Source, opts Options, listen ...net.Listener) *running {
	t.Helper()
	if listen == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listen = []net.Listener{l}
	}
	reg := prometheus.NewRegistry()
	s := New(command.New(catalog(t), src, nil, command.Options{Users: users}), slog.New(slog.NewTextHandler(io.Discard, nil)), reg, opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		var listeners []Listener
		for _, l := range listen {
			listeners = append(listeners, Listener{Listener: l})
		}
		if err := s.Run(ctx, listeners...); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	var once sync.Once
	stop := func() { once.Do(func() { cancel(); <-done }) }
	t.Cleanup(stop)
	return &running{Server: s, addr: listen[0].Addr().String(), reg: reg, stop: stop}
}

// metric returns the value of a metric, by its one label if it has one.
func (r *running) metric(t testing.TB, name, label string) float64 {
	t.Helper()
	families, err := r.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("there is no metric %s of %q", name, label)
	return 0
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(30 * time.Second)) // a hang fails the test
	t.Cleanup(func() { c.Close() })
	return c
}

func send(t testing.TB, c net.Conn, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

func expect(t testing.TB, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(c, got)
	if string(got[:n]) != want {
		t.Fatalf("got %q (%v), want %q", got[:n], err, want)
	}
}

func expectEnd(t testing.TB, c net.Conn, want string) {
	t.Helper()
	got, err := io.ReadAll(c)
	if string(got) != want {
		t.Fatalf("got %q (%v) to the end, want %q", got, err, want)
	}
}

func set(key string, value []byte) string {
	return fmt.Sprintf("*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(key), key, len(value), value)
}

func get(key string) string {
	return fmt.Sprintf("*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", len(key), key)
}

func bulk(b []byte) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(b), b) }

func TestServes(t *testing.T) {
	s := start(t, &table{}, Options{})
	c := dial(t, s.addr)
	send(t, c, "PING\r\n"+set("key:a", []byte("1"))+get("key:a")+"QUIT\r\nPING\r\n")
	expectEnd(t, c, "+PONG\r\n+OK\r\n$1\r\n1\r\n+OK\r\n")
}

func TestSizesAroundTheBuffers(t *testing.T) {
	s := start(t, &table{}, Options{})
	c := dial(t, s.addr)
	var sizes []int
	for _, around := range []int{smallBuffer, 2 * smallBuffer, 16 << 10, 32 << 10, busyBuffer, 2 * busyBuffer} {
		for d := -40; d <= 3; d++ { // the frame of a SET is 37 bytes and a little more
			sizes = append(sizes, around+d)
		}
	}
	sizes = append(sizes, 16306, 16307, 32642, 32643)
	for _, n := range sizes {
		v := bytes.Repeat([]byte{'x'}, n)
		for _, key := range []string{"key:a", "key:" + strings.Repeat("k", 484)} {
			send(t, c, set(key, v)+get(key))
			expect(t, c, "+OK\r\n"+bulk(v))
		}
	}
}
