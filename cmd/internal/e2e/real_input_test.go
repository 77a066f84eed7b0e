package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// roles with fewer rights than it takes, each for one reason.
var roles = []string{
	"CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 1)",
	"CREATE TABLE dusk (id int PRIMARY KEY, v int)",
	"CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY, v int)",
	"CREATE TABLE keyless (id int, v int)",
	"CREATE VIEW looks AS SELECT * FROM t",
	"CREATE ROLE with_password",
	"CREATE ROLE app LOGIN PASSWORD 'right' IN ROLE with_password",
	"CREATE ROLE blind LOGIN",
	"CREATE ROLE reader LOGIN", "GRANT SELECT ON t TO reader",
	"CREATE ROLE shipper LOGIN REPLICATION", "GRANT SELECT ON t TO shipper",
	"CREATE PUBLICATION whole FOR TABLE t WITH (publish_via_partition_root = true)",
	"CREATE PUBLICATION filtered FOR TABLE t WHERE (id > 5)",
	"CREATE PUBLICATION columns FOR TABLE t (id)",
	"CREATE PUBLICATION quiet FOR TABLE t WITH (publish = 'insert')",
}

// badInput is a configuration that cannot work, and the words that say what to
// do.
type badInput struct {
	name  string
	url   string // "": the superuser's
	table string // "": t
	relay string // settings of the relay
	node  bool   // a node finds it; otherwise a relay does
	want  []string
}

func badInputs(p, standby, physical *stack.Postgres) []badInput {
	as := func(user string) string {
		u, err := url.Parse(p.URL("", ""))
		if err != nil {
			return ""
		}
		name, password, given := strings.Cut(user, ":")
		if u.User = url.User(name); given {
			u.User = url.UserPassword(name, password)
		}
		return u.String()
	}
	return []badInput{
		{name: "wrong password", url: as("app:wrong"), node: true, want: []string{"password"}},
		{name: "wrong password, relay", url: as("app:wrong"), want: []string{"password"}},
		{name: "no such database", url: p.URL("", "nosuch"), node: true, want: []string{"nosuch"}},
		{name: "no such role", url: as("nobody"), node: true, want: []string{"nobody"}},
		{name: "no server", url: "postgres://postgres@127.0.0.1:1/postgres", node: true, want: []string{"start the server"}},
		{name: "no URL", url: "not a url at all", node: true, want: []string{"postgres://"}},
		{name: "no such table", table: "nosuch", node: true, want: []string{"nosuch"}},
		{name: "no such table, relay", table: "nosuch", want: []string{"nosuch"}},
		{name: "no right to read", url: as("blind"), node: true, want: []string{"GRANT SELECT ON"}},
		{name: "unlogged table", table: "unlogged", node: true, want: []string{"LOGGED"}},
		{name: "table without a key", table: "keyless", node: true, want: []string{"primary key", "give it one"}},
		{name: "view", table: "looks", node: true, want: []string{"view"}},
		{name: "standby as primary", url: standby.URL("", ""), node: true, want: []string{"primary"}},
		{name: "standby as primary, relay", url: standby.URL("", ""), want: []string{"primary"}},
		{name: "wal_level", url: physical.URL("", ""), want: []string{"wal_level", "logical"}},
		{name: "no right to replicate", url: as("reader"), relay: "publication: whole", want: []string{"ALTER ROLE", "REPLICATION"}},
		{name: "no right to publish", url: as("shipper"), want: []string{"CREATE PUBLICATION"}},
		{name: "row filter", relay: "publication: filtered", want: []string{"filter"}},
		{name: "column list", relay: "publication: columns", want: []string{"column"}},
		{name: "inserts only", relay: "publication: quiet", want: []string{"ALTER PUBLICATION"}},
	}
}

// What a person can get wrong is said by --check, with what mends it, and
// without the password.
func TestRealBadInput(t *testing.T) {
	stacktest.Need(t)
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, roles...)
	standby := stacktest.Standby(t, p, "second")
	physical := stacktest.Postgres(t, stack.PG15, "wal_level = replica")
	stacktest.Exec(t, physical, roles[0])
	for _, b := range badInputs(p, standby, physical) {
		t.Run(b.name, func(t *testing.T) {
			err := b.check(t, p)
			if err == nil {
				t.Fatal("nothing is wrong")
			}
			for _, word := range b.want {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q is not in: %v", word, err)
				}
			}
			if strings.Contains(err.Error(), "wrong@") || strings.Contains(err.Error(), ":wrong") {
				t.Errorf("the password is in: %v", err)
			}
		})
	}
}

func (b badInput) check(t *testing.T, p *stack.Postgres) error {
	t.Helper()
	if b.url == "" {
		b.url = p.URL("", "")
	}
	if b.table == "" {
		b.table = "t"
	}
	text := fmt.Sprintf("source: {postgres: {url: \"${URL}\"}}\nrelay: {%s}\nuse_cases: [{name: u, table: %s}]\n", b.relay, b.table)
	c := parse(t, text, map[string]string{"URL": b.url})
	if b.node {
		return node.Check(t.Context(), c)
	}
	return node.CheckRelay(t.Context(), c)
}

// What goes wrong while it runs, a relay waits for, and says so.
func TestRealRelayWaits(t *testing.T) {
	stacktest.Need(t)
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, roles[:2]...)
	k := stacktest.Kafka(t, nil)
	topics := map[string]map[string]string{
		"short":     {"retention.ms": "1000"},
		"compacted": {"cleanup.policy": "compact"},
		"small":     {"max.message.bytes": "1000"},
		"strict":    {"min.insync.replicas": "2"},
	}
	makeTopics(t, k, topics)
	for name, want := range map[string]string{
		"short": "retention.ms", "compacted": "cleanup.policy", "small": "max.message.bytes", "strict": "min.insync.replicas",
	} {
		r := waitingRelay(t, p, k.Address(), name)
		r.says(t, want)
		r.stop()
	}
	r := waitingRelay(t, p, nobody, "changes")
	r.says(t, nobody)
	r.stop()

	first := waitingRelay(t, p, k.Address(), "changes")
	first.ships(t)
	second := waitingRelay(t, p, k.Address(), "changes")
	second.says(t, "slot")
	first.stop()
	second.ships(t)
}

func makeTopics(t *testing.T, k *stack.Kafka, topics map[string]map[string]string) {
	t.Helper()
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	admin := kafkago.Client{Addr: kafkago.TCP(k.Address()), Transport: transport, Timeout: patience}
	var request kafkago.CreateTopicsRequest
	for name, settings := range topics {
		topic := kafkago.TopicConfig{Topic: name, NumPartitions: 1, ReplicationFactor: 1}
		for k, v := range settings {
			topic.ConfigEntries = append(topic.ConfigEntries, kafkago.ConfigEntry{ConfigName: k, ConfigValue: v})
		}
		request.Topics = append(request.Topics, topic)
	}
	res, err := admin.CreateTopics(t.Context(), &request)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range res.Errors {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// oneRelay is a relay in this process, with its admin port.
type oneRelay struct {
	admin string
	stop  func()
}

func waitingRelay(t *testing.T, p *stack.Postgres, broker, topic string) oneRelay {
	t.Helper()
	c := parse(t, "source: {postgres: {url: \"${URL}\"}}\nuse_cases: [{name: u, table: t}]\n", map[string]string{"URL": p.URL("", "")})
	c.Stream.Kafka.Brokers, c.Stream.Kafka.Topic = []string{broker}, topic
	c.Relay.Admin, c.Relay.Partitions = anyPort, 1
	s := &shop{t: t, config: c}
	r, err := node.OpenRelay(t.Context(), c, s.log())
	if err != nil {
		t.Fatal(err)
	}
	return oneRelay{r.Admin(), s.spawn("relay", r.Run)}
}

// says waits until the relay's admin port says that it waits, in these words.
func (r oneRelay) says(t *testing.T, want string) {
	t.Helper()
	eventually(t, want, func() bool {
		text := fetch(r.admin, "/readyz")
		return strings.HasPrefix(text, "not ready\n") && strings.Contains(text, want)
	})
}

func (r oneRelay) ships(t *testing.T) {
	t.Helper()
	eventually(t, "it ships", func() bool { return fetch(r.admin, "/readyz") == "ready\n" })
}

// Anybody who may connect may write messages into the log that look like
// checkpoints. They lift nothing.
func TestRealForgedCheckpoint(t *testing.T) {
	stacktest.Need(t)
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, append(seed(3), "CREATE ROLE anybody LOGIN")...)
	s := newRealShop(t, p, stacktest.Kafka(t, nil), gateSettings)
	s.relay()
	n := s.node()
	s.await(n)
	for _, prefix := range []string{config.Default().Relay.Slot, "freshet", "freshet_checkpoint"} {
		for _, content := range []string{"", "x", strings.Repeat("x", 40), strings.Repeat("x", 10000)} {
			stacktest.Exec(t, p, "SET ROLE anybody", "SELECT pg_logical_emit_message(true, '"+prefix+"', '"+content+"')")
		}
	}
	c := s.client(n.Address())
	for i := range 10 {
		stacktest.Exec(t, p, fmt.Sprintf("UPDATE versions SET v = %d WHERE id = 0", i))
		c.becomes(gateBound, fmt.Sprint(i), "HGET", "versions:0", "v")
	}
	for _, name := range []string{"freshet_cdc_lies_total", "freshet_cdc_undecodable_total"} {
		if got := s.metric(n, name); got != 0 {
			t.Errorf("%s is %v", name, got)
		}
	}
	eventually(t, "the node has nothing to complain about", func() bool { _, why := s.ready(n); return why == "ready\n" })
}
