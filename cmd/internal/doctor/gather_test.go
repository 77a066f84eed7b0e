package doctor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is a sample database, with a configuration of it.
func shop(t *testing.T, more string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	if err := node.Sample(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return configured(t, fmt.Sprintf(`
source: {sqlite: {path: %s}}
use_cases: [{name: users, table: users, bound: 1h}]
node: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}
relay: {checkpoint_interval: 20ms, partitions: 2, admin: "127.0.0.1:0"}
%s`, path, more))
}

// nobody is an address where nobody listens.
const nobody = "127.0.0.1:1"

// Before anything runs the doctor says what is not there yet, and by what; and
// it leaves the database as it is.
func TestBeforeAnythingRuns(t *testing.T) {
	c := shop(t, "")
	before := contents(t, c.Source.SQLite.Path)
	c.Stream.Kafka.Brokers = []string{nobody}
	f := Gather(t.Context(), c, Options{Watch: time.Minute, Outage: time.Hour, Nodes: []string{nobody}, Relays: []string{nobody}})
	want := []string{"error topic (freshet)", "note clock", "note node (" + nobody + ")", "note outbox", "note relay (" + nobody + ")"}
	if got := unfine(judge(f)); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if !bytes.Equal(before, contents(t, c.Source.SQLite.Path)) {
		t.Error("the doctor has written into the database")
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A file that is not there is a finding, and the rest is looked at all the same.
func TestNoDatabase(t *testing.T) {
	c := shop(t, "")
	c.Stream.Kafka.Brokers = []string{nobody}
	if err := os.Remove(c.Source.SQLite.Path); err != nil {
		t.Fatal(err)
	}
	f := Gather(t.Context(), c, Options{Outage: time.Hour})
	want := []string{"error source", "error topic (freshet)"}
	if got := unfine(judge(f)); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if _, err := os.Stat(c.Source.SQLite.Path); err == nil {
		t.Error("the doctor has made the file")
	}
}

// run runs a part until the test ends.
func run(t *testing.T, part func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- part(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// streamed is a shop with a broker that runs.
func streamed(t *testing.T) *config.Config {
	t.Helper()
	c := shop(t, "")
	broker, err := node.OpenBroker("127.0.0.1:0", t.TempDir(), c.Stream.Kafka.Topic, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	c.Stream.Kafka.Brokers = []string{broker.Address()}
	return c
}

// A deployment that runs is measured, and nothing is wrong with it but that it
// has one broker.
func TestWhileItRuns(t *testing.T) {
	c := streamed(t)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	r, err := node.OpenRelay(t.Context(), c, log)
	if err != nil {
		t.Fatal(err)
	}
	run(t, r.Run)
	n, err := node.Open(t.Context(), c, log)
	if err != nil {
		t.Fatal(err)
	}
	run(t, n.Run)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := n.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	var f *Facts
	for watch := 200 * time.Millisecond; ; watch *= 2 { // a machine that is busy with other tests sees less in the same time
		f = Gather(t.Context(), c, Options{Watch: watch, Outage: time.Hour, Nodes: []string{n.Admin()}, Relays: []string{r.Admin()}})
		if s := f.Topics[0].Stream; s != nil && s.Samples > 0 || watch > time.Minute {
			break
		}
	}
	// A machine that is busy with other tests makes a relay late, and is no
	// matter of the doctor's.
	late := []string{"warning relay lag (" + r.Admin() + ")", "warning watermark (" + n.Admin() + ")", "warning ready (" + n.Admin() + ")"}
	if got, want := unfine(judge(f), late...), []string{"note replication (freshet)"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	s := f.Topics[0].Stream
	p, measured := Measured(f)
	if !measured || s.Samples == 0 || s.Checkpoints < s.Samples || p.Interval < 20*time.Millisecond || p.SmallestBound() <= p.Interval || !f.Clock.Known {
		t.Errorf("measured %+v of %+v", p, s)
	}
	if s.Last == nil || s.Last.Slot != "freshet" || s.Last.Source != f.Clock.Source || s.Last.Partitions != 2 {
		t.Errorf("the stream is %+v, the source %+v", s.Last, f.Clock.Source)
	}
}

// A relay that waits for another one to end says so, and nothing is wrong with
// that.
func TestARelayThatStandsBy(t *testing.T) {
	c := streamed(t)
	o := Options{Outage: time.Hour}
	for range 2 {
		r, err := node.OpenRelay(t.Context(), c, slog.New(slog.NewTextHandler(t.Output(), nil)))
		if err != nil {
			t.Fatal(err)
		}
		run(t, r.Run)
		o.Relays = append(o.Relays, r.Admin())
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) { // which is first, nobody knows
		f := Gather(t.Context(), c, o)
		one, two := &f.Relays[0], &f.Relays[1]
		if one.standsBy() != two.standsBy() && one.Ready != two.Ready {
			if bad := unfine(judgeRelays(f), "warning relay lag ("+one.Address+")", "warning relay lag ("+two.Address+")"); len(bad) > 0 {
				t.Errorf("found %q", bad)
			}
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("none ships, or none stands by: %+v", f.Relays)
		}
	}
}

// The doctor ends when it is told to, whatever it waits for.
func TestGatherEnds(t *testing.T) {
	c := shop(t, "")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c.Stream.Kafka.Brokers = []string{silent.Addr().String()}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := Gather(ctx, c, Options{Watch: time.Hour, Outage: time.Hour, Nodes: []string{silent.Addr().String()}})
	if f.Topics[0].Err == nil || f.Nodes[0].Err == nil {
		t.Errorf("%+v, %+v", f.Topics[0], f.Nodes[0])
	}
}

func TestEndpoints(t *testing.T) {
	for _, c := range []struct {
		what           string
		status         int
		ready, metrics string
		ok             bool
		problems       int
		err            string
	}{
		{"ready", 200, "ready\n", "freshet_x 1\n", true, 0, ""},
		{"degraded", 200, "ready, degraded\nsource: away\nstream: away\n", "", true, 2, ""},
		{"not ready", 503, "not ready\nsource: away\n", "", false, 1, ""},
		{"another program's", 200, "<html>", "", false, 0, "no admin port of Freshet"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/metrics" {
				io.WriteString(w, c.metrics)
				return
			}
			w.WriteHeader(c.status)
			io.WriteString(w, c.ready)
		}))
		e := endpoint(t.Context(), strings.TrimPrefix(s.URL, "http://"))
		s.Close()
		if e.Ready != c.ok || len(e.Problems) != c.problems || (e.Err == nil) != (c.err == "") || e.Err != nil && !strings.Contains(e.Err.Error(), c.err) {
			t.Errorf("%s: %+v", c.what, e)
		}
	}
}

const connectors = `{
 "shop": {"info": {"name": "shop", "config": {"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "topic.prefix": "shop"}},
  "status": {"connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "FAILED", "trace": "java.lang.Exception: no\n\tat x"}]}},
 "other": {"info": {"config": {"connector.class": "io.debezium.connector.mysql.MySqlConnector", "topic.prefix": "other"}}, "status": {"connector": {"state": "RUNNING"}, "tasks": []}},
 "sink": {"info": {"config": {"connector.class": "com.example.Sink"}}, "status": {}}
}`

func TestConnectorsAreAskedFor(t *testing.T) {
	answer, status := connectors, http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	defer s.Close()
	all, err := connectorsAt(t.Context(), s.URL+"/")
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	ours := concerned(all, []string{"shop.public.users"})
	if len(ours) != 1 || ours[0].Name != "shop" || ours[0].State != "FAILED" || ours[0].Trace != "java.lang.Exception: no" {
		t.Errorf("%+v", ours)
	}
	if got := concerned(all, []string{"everything"}); len(got) != 2 {
		t.Errorf("of topics that nobody knows: %+v", got)
	}
	for _, bad := range []struct {
		status int
		answer string
	}{{200, "{}"}, {200, "<html>"}, {500, connectors}} {
		status, answer = bad.status, bad.answer
		if _, err := connectorsAt(t.Context(), s.URL); err == nil {
			t.Errorf("%+v is good enough", bad)
		}
	}
	if _, err := connectorsAt(t.Context(), "http://"+nobody); err == nil || !strings.Contains(err.Error(), "--connect") {
		t.Errorf("nobody there: %v", err)
	}
}

// What a file of settings says is looked at like what Kafka Connect says.
func TestConnectorOfAFile(t *testing.T) {
	c := shop(t, "stream: {format: debezium, debezium: {topics: [shop.main.users], visibility_lag: 1s}}")
	c.Stream.Kafka.Brokers = []string{nobody}
	path := filepath.Join(t.TempDir(), "shop.properties")
	if err := os.WriteFile(path, []byte("name=shop\nconnector.class=io.debezium.connector.mysql.MySqlConnector\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := Gather(t.Context(), c, Options{Outage: time.Hour, Connector: path})
	if len(f.Connectors) != 1 || f.Connectors[0].Name != "shop" {
		t.Errorf("%+v, %v", f.Connectors, f.Connect)
	}
	f = Gather(t.Context(), c, Options{Outage: time.Hour, Connector: path + ".not"})
	if f.Connect == nil || len(f.Connectors) > 0 {
		t.Errorf("a file that is not there: %+v", f.Connectors)
	}
}

// records feeds a watcher.
type records struct {
	*watcher
	offset int64
}

func (r *records) checkpoint(partition int, slot string, at proxy.Time) {
	id := event.StreamID{Source: primary, Slot: slot, Topic: 1, Partitions: 2}
	value := event.Append(nil, &event.Record{Stream: id.Hash(), Position: proxy.Position{Commit: uint64(at) + 1}, Checkpoint: &event.Checkpoint{T: at, Stream: id}})
	r.offset++
	r.Record(partition, r.offset, nil, value)
}

func watched() *records {
	w := &watcher{decode: ownRecords}
	w.Lost("started")
	w.Attached(2)
	return &records{watcher: w}
}

func TestWatchersCount(t *testing.T) {
	r := watched()
	for i := range proxy.Time(10) {
		r.checkpoint(0, "freshet", 100*i)
		r.checkpoint(1, "freshet", 100*i)
	}
	r.Record(0, 99, nil, []byte("what?"))
	s := r.stream(time.Second, "")
	if s.Records != 19 || s.Checkpoints != 18 || s.Undecodable != 1 || s.Reason == "" || s.Turns != 0 || s.Streams != 1 || len(s.Silent) != 0 || s.Gap != "" || s.Bytes == 0 {
		t.Errorf("%+v", s)
	}
	if s.Pipeline.Interval != 100 {
		t.Errorf("the interval is %v", s.Pipeline.Interval)
	}
	r.Lost("log_cut")
	r.Attached(2)
	if s := r.stream(time.Second, "attaching"); s.Gap != "log_cut" || s.Waiting != "attaching" {
		t.Errorf("%+v", s)
	}
}

// Two relays on one topic take turns; one that begins anew does once.
func TestWatchersTellTwoRelaysApart(t *testing.T) {
	r := watched()
	for i := range proxy.Time(5) {
		r.checkpoint(0, "a", 100*i)
		r.checkpoint(0, "b", 100*i)
	}
	if s := r.stream(time.Second, ""); s.Streams != 2 || s.Turns != 9 || len(s.Silent) != 1 {
		t.Errorf("%+v", s)
	}
}
