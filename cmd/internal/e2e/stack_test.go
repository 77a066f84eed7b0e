package e2e

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
)

func TestMain(m *testing.M) {
	askZones()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if binaryDir != "" {
			os.RemoveAll(binaryDir)
		}
		os.Exit(code)
	}))
}

const (
	anyPort = "127.0.0.1:0"
	nobody  = "127.0.0.1:1" // where nobody listens
)

// shop is a database with whatever else a test has started.
type shop struct {
	t      *testing.T
	dir    string
	config *config.Config
}

// newStack makes a sample database, mapped as configure says. No use case has
// a bound below an hour unless a test says so: then nothing but the stream can
// make what is cached fresh.
func newStack(t *testing.T, useCases ...config.UseCase) *shop {
	t.Helper()
	s := &shop{t: t, dir: t.TempDir(), config: config.Default()}
	c := s.config
	c.Source.SQLite.Path = filepath.Join(s.dir, "shop.db")
	c.Node.Listen, c.Node.Admin, c.Relay.Admin = anyPort, anyPort, ""
	c.Relay.CheckpointInterval = config.Duration(20 * time.Millisecond)
	c.UseCases = useCases
	if err := node.Sample(t.Context(), c.Source.SQLite.Path); err != nil {
		t.Fatal(err)
	}
	return s
}

func mapped(name, table string, bound time.Duration, key ...string) config.UseCase {
	u := config.DefaultUseCase(name)
	u.Table, u.Key, u.Bound = table, key, config.Duration(bound)
	u.Timeout = config.Duration(patience) // a machine that is busy with other tests is slow, not away
	return u
}

// log shows what the parts say only when the test fails.
func (s *shop) log() *slog.Logger { return slog.New(slog.NewTextHandler(s.t.Output(), nil)) }

// broker starts the broker: where it was before, if it ran before.
func (s *shop) broker() *node.Broker {
	s.t.Helper()
	address := anyPort
	if b := s.config.Stream.Kafka.Brokers[0]; b != config.Default().Stream.Kafka.Brokers[0] {
		address = b
	}
	b, err := node.OpenBroker(address, filepath.Join(s.dir, "kafka"), s.config.Stream.Kafka.Topic, s.config.Relay.Partitions)
	if err != nil {
		s.t.Fatal(err)
	}
	s.config.Stream.Kafka.Brokers = []string{b.Address()}
	return b
}

// spawn runs a part until stop is called or the test ends; stop waits.
func (s *shop) spawn(what string, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("%s: %v", what, err)
		}
	}
	s.t.Cleanup(stop)
	return stop
}

func (s *shop) relay() (stop func()) {
	s.t.Helper()
	r, err := node.OpenRelay(s.t.Context(), s.config, s.log())
	if err != nil {
		s.t.Fatal(err)
	}
	return s.spawn("relay", r.Run)
}

func (s *shop) node() *node.Node {
	s.t.Helper()
	own := *s.config
	n, err := node.Open(s.t.Context(), &own, s.log())
	if err != nil {
		s.t.Fatal(err)
	}
	s.spawn("node", n.Run)
	return n
}

// start starts everything once, and waits until the node is ready.
func (s *shop) start() (*node.Node, *client) {
	s.t.Helper()
	s.t.Cleanup(s.broker().Close)
	s.relay()
	n := s.node()
	s.await(n)
	return n, s.client(n.Address())
}

func (s *shop) await(n *node.Node) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := n.Ready(ctx); err != nil {
		_, why := s.ready(n)
		s.t.Fatalf("never ready: %s", why)
	}
}

// sql runs a statement as another SQLite client would.
func (s *shop) sql(statement string) string {
	s.t.Helper()
	var out bytes.Buffer
	if err := node.SQL(s.t.Context(), s.config.Source.SQLite.Path, statement, &out); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
	return out.String()
}

// ready asks the node's admin port.
func (s *shop) ready(n *node.Node) (bool, string) {
	s.t.Helper()
	code, body := s.get(n.Admin(), "/readyz")
	return code == http.StatusOK, body
}

// metric returns the sum of a metric's series that hold all of the labels.
func (s *shop) metric(n *node.Node, name string, labels ...string) float64 {
	s.t.Helper()
	_, body := s.get(n.Admin(), "/metrics")
	sum, found := 0.0, false
	for _, m := range regexp.MustCompile(`(?m)^`+name+`(\{.*\})? (\S+)$`).FindAllStringSubmatch(body, -1) {
		matches := true
		for _, l := range labels {
			matches = matches && strings.Contains(m[1], l)
		}
		if v, err := strconv.ParseFloat(m[2], 64); matches && err == nil {
			sum, found = sum+v, true
		}
	}
	if !found {
		s.t.Fatalf("no metric %s with %v", name, labels)
	}
	return sum
}

func (s *shop) get(admin, path string) (int, string) {
	s.t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	r, err := http.Get("http://" + admin + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// client is a Client whose errors end the test.
type client struct {
	*Client
	t *testing.T
}

func (s *shop) client(address string) *client { return dial(s.t, address) }

func dial(t *testing.T, address string) *client {
	t.Helper()
	c, err := Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{c, t}
}

func (c *client) do(args ...string) string {
	c.t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		c.t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// becomes asks until the reply is want. If that takes longer than bound after
// this call began, the promise is broken.
func (c *client) becomes(bound time.Duration, want string, args ...string) {
	c.t.Helper()
	start := time.Now()
	for {
		asked := time.Since(start)
		got := c.do(args...)
		if got == want {
			return
		}
		if asked > bound {
			c.t.Fatalf("%v: %v after the change, the reply is still %s, not %s", args, asked, got, want)
		}
		time.Sleep(time.Millisecond) // between two reads of a loop that ends by its own bound
	}
}

// eventually waits for something that has no bound but our patience.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}
