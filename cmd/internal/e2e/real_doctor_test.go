package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/doctor"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// patient is a deployment that a doctor looks at, and carries out what it says.
type patient struct {
	*shop
	server    *stack.Postgres
	connect   *stack.Connect               // nil: none
	connector map[string]map[string]string // the settings of each, by name
	options   doctor.Options
}

// examine returns what is not fine: "level check (about)".
func (p *patient) examine() (all []doctor.Finding, bad []string) {
	p.t.Helper()
	start := time.Now()
	r := doctor.Examine(doctor.Gather(p.t.Context(), p.config, p.options))
	p.t.Logf("examined in %v: %v", time.Since(start).Round(time.Millisecond), r.Verdict)
	for _, f := range r.Findings {
		if f.Level > doctor.OK {
			bad = append(bad, strings.TrimSuffix(fmt.Sprintf("%s %s (%s)", f.Level, f.Check, f.About), " ()"))
		}
	}
	slices.Sort(bad)
	return r.Findings, bad
}

// carryOut does what the findings say, as far as it is no matter of words.
func (p *patient) carryOut(all []doctor.Finding) {
	p.t.Helper()
	restart := false
	for _, f := range all {
		if f.Mend == nil || f.Level < doctor.Warning {
			continue
		}
		stacktest.Exec(p.t, p.server, f.Mend.SQL...)
		restart = restart || strings.Contains(f.Mend.Do, "restart the server")
		if len(f.Mend.Topic) > 0 {
			setTopic(p.t, p.config, f.About, f.Mend.Topic)
		}
		for name, value := range f.Mend.Config {
			p.set(name, value)
		}
		if len(f.Mend.Connector) > 0 {
			maps.Copy(p.connector[f.About], f.Mend.Connector)
		}
	}
	for name, settings := range p.connector {
		if err := p.connect.Put(p.t.Context(), name, settings); err != nil {
			p.t.Fatal(err)
		}
	}
	if restart {
		if err := p.server.Restart(p.t.Context()); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *patient) set(name, value string) {
	p.t.Helper()
	if useCase, ok := strings.CutPrefix(name, "use_cases["); ok {
		useCase, _, _ = strings.Cut(useCase, "]")
		bound, err := time.ParseDuration(value)
		if err != nil {
			p.t.Fatal(err)
		}
		for i := range p.config.UseCases {
			if p.config.UseCases[i].Name == useCase {
				p.config.UseCases[i].Bound = config.Duration(bound)
			}
		}
		return
	}
	if name != "relay.failover_slot" {
		p.t.Fatalf("nobody sets %s here", name)
	}
	p.config.Relay.FailoverSlot = value == "true"
}

func admin(t *testing.T, c *config.Config) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Stream.Kafka.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func setTopic(t *testing.T, c *config.Config, topic string, settings map[string]string) {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	for name, value := range settings {
		s := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		s.Name, s.Value = name, kmsg.StringPtr(value)
		r.Configs = append(r.Configs, s)
	}
	req.Resources = append(req.Resources, r)
	res, err := req.RequestWith(t.Context(), admin(t, c))
	if err == nil {
		err = kerr.ErrorForCode(res.Resources[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func makeTopic(t *testing.T, c *config.Config, topic string, partitions int32, settings map[string]string) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	r := kmsg.NewCreateTopicsRequestTopic()
	r.Topic, r.NumPartitions, r.ReplicationFactor = topic, partitions, 1
	req.Topics = append(req.Topics, r)
	res, err := req.RequestWith(t.Context(), admin(t, c))
	if err == nil {
		err = kerr.ErrorForCode(res.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(settings) > 0 {
		setTopic(t, c, topic, settings)
	}
}

// the checks that have nothing to do with a broker of one's own
var oneBroker = []string{"note replication (changes)"}

// A deployment with twenty things wrong at once is told of each of them, and of
// nothing else. What is printed is carried out as it stands, and then nothing is
// wrong; nor is it when everything runs.
func TestRealDoctor(t *testing.T) {
	server := stacktest.Postgres(t, stack.PG15, "wal_level = replica", "max_replication_slots = 1", "max_wal_senders = 1")
	kafka := stacktest.Kafka(t, nil)
	stacktest.Exec(t, server,
		"CREATE TABLE users (id int PRIMARY KEY, email text NOT NULL UNIQUE, name text)",
		"CREATE TABLE orders (id int PRIMARY KEY, what text)",
		"CREATE UNLOGGED TABLE carts (id int PRIMARY KEY, what text)",
		"CREATE TABLE items (id int PRIMARY KEY, sku text NOT NULL, what text)",
		"CREATE TABLE prices (id int PRIMARY KEY, cents int)",
		"CREATE TABLE notes (id int PRIMARY KEY, what text)",
		"CREATE TABLE visits (id int, day int, PRIMARY KEY (id, day)) PARTITION BY LIST (day)",
		"CREATE TABLE visits_1 PARTITION OF visits FOR VALUES IN (1)",
		"ALTER TABLE visits_1 REPLICA IDENTITY NOTHING",
		"ALTER TABLE notes ENABLE ROW LEVEL SECURITY", "CREATE POLICY few ON notes USING (id > 10)",
		"CREATE ROLE freshet LOGIN", "ALTER ROLE freshet SET DateStyle = 'German'",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON users, carts, items, notes, visits TO freshet", "GRANT SELECT ON orders TO freshet",
		"CREATE PUBLICATION freshet FOR TABLE users WHERE (id > 10), orders (id), prices, notes, visits WITH (publish = 'insert, update, delete')",
	)
	text := fmt.Sprintf(`
node: {listen: "%[1]s", admin: "%[1]s"}
stream: {kafka: {brokers: ["%[2]s"], topic: changes}}
source: {postgres: {url: "${URL}"}}
relay: {failover_slot: true, partitions: 2, checkpoint_interval: 50ms}
use_cases:
  - {name: users, table: users}
  - {name: by-email, table: users, key: [email]}
  - {name: orders, table: orders}
  - {name: carts, table: carts, bound: 20ms}
  - {name: items, table: items, key: [sku]}
  - {name: prices, table: prices}
  - {name: notes, table: notes}
  - {name: visits, table: visits}
`, anyPort, kafka.Address())
	s := &shop{t: t, dir: t.TempDir(), config: parse(t, text, map[string]string{"URL": server.URL("freshet", "")})}
	p := &patient{shop: s, server: server, options: doctor.Options{Watch: 500 * time.Millisecond, Outage: time.Hour}}
	makeTopic(t, s.config, "changes", 2, map[string]string{
		"cleanup.policy": "compact", "retention.ms": "60000", "retention.bytes": "1048576", "min.insync.replicas": "2", "max.message.bytes": "100000", "unclean.leader.election.enable": "true",
	})

	all, bad := p.examine()
	want := append([]string{
		"error cleanup.policy (changes)", "error column list (orders)", "error failover slot", "error keys (items)", "error logged (carts)",
		"error max.message.bytes (changes)", "error min.insync.replicas (changes)", "error partitions (freshet)", "error publication (freshet)",
		"error published (carts)", "error published (items)", "error replica identity (by-email)", "error replica identity (items)", "error replica identity (visits)",
		"error retention.ms (changes)", "error right to read (prices)", "error right to read the log", "error row filter (users)", "error wal_level",
		"note defaults of role and database", "note retention.bytes (changes)", "note slot (freshet)",
		"warning bound (carts)", "warning checkpoints (changes)", "warning max_slot_wal_keep_size", "warning right to write (orders)", "warning right to write (prices)",
		"warning row security (notes)", "warning unclean election (changes)",
	}, oneBroker...)
	slices.Sort(want)
	if !slices.Equal(bad, want) {
		t.Fatalf("found\n  %s\nand not\n  %s", strings.Join(bad, "\n  "), strings.Join(want, "\n  "))
	}

	p.carryOut(all)
	s.relay()
	n := s.node()
	s.await(n)
	p.options.Nodes = []string{n.Admin()}
	all, bad = p.examine()
	// What only a stream that runs shows: how fast it is, and how much. A machine
	// that is busy with other tests makes it late.
	late := []string{"note ", "warning bound (carts)", "warning watermark", "warning ready"}
	if rest := without(bad, append(late, "warning retention.bytes (changes)")...); len(rest) > 0 {
		t.Errorf("after all that was said is done: %q", rest)
	}
	p.carryOut(all)
	if _, bad = p.examine(); len(without(bad, late...)) > 0 {
		t.Errorf("after that is done, too: %q", bad)
	}
}

func without(bad []string, prefixes ...string) []string {
	return slices.DeleteFunc(slices.Clone(bad), func(f string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f, p) })
	})
}

// A connector as a tutorial makes it, with some settings that cost something,
// is told what to change for a stream with checkpoints; and that is enough. So
// is what is printed for a connector that is still to be made.
func TestRealDoctorDebezium(t *testing.T) {
	server := stacktest.Postgres(t, stack.PG15, "max_slot_wal_keep_size = '1GB'")
	kafka := stacktest.Kafka(t, nil)
	connect := stacktest.Connect(t, kafka)
	stacktest.Exec(t, server,
		"CREATE TABLE users (id int PRIMARY KEY, name text, credit numeric)", "CREATE TABLE orders (id int PRIMARY KEY, what text)",
		"CREATE TABLE visits (id int PRIMARY KEY, what text)")
	text := fmt.Sprintf(`
node: {listen: "%[1]s", admin: "%[1]s"}
stream: {format: debezium, kafka: {brokers: ["%[2]s"]}, debezium: {topics: [shop.public.users, shop.public.orders]}}
source: {postgres: {url: "${URL}"}}
use_cases: [{name: users, table: users, bound: 1m}, {name: orders, table: orders, bound: 1m}]
`, anyPort, kafka.Address())
	s := &shop{t: t, dir: t.TempDir(), config: parse(t, text, map[string]string{"URL": server.URL("", "")})}
	for _, topic := range s.config.Stream.Debezium.Topics {
		makeTopic(t, s.config, topic, 3, nil)
	}
	settings := stack.Debezium(server, "shop", "table.include.list=public.users", "decimal.handling.mode=double", "errors.tolerance=all",
		"producer.override.acks=1", "producer.override.enable.idempotence=false")
	if err := connect.Put(t.Context(), "shop", settings); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a connector that reads its slot", func() bool {
		active, err := server.Query(t.Context(), "SELECT count(*) FROM pg_replication_slots WHERE active")
		return err == nil && active == "1"
	})
	p := &patient{shop: s, server: server, connect: connect, connector: map[string]map[string]string{"shop": settings},
		options: doctor.Options{Watch: time.Second, Outage: time.Hour, Connect: connect.URL()}}
	all, bad := p.examine()
	want := []string{
		"error captured tables (shop)", "error checkpoint table (freshet_checkpoint)", "error checkpoint table (freshet_checkpoint_2)",
		"error checkpoints' topic (shop)", "error checkpoints' topic (shop)",
		"error errors.tolerance (shop)", "error heartbeat.action.query (shop)", "error heartbeat.interval.ms (shop)",
		"error producer.override.acks (shop)", "error producer.override.enable.idempotence (shop)",
		"error published (orders)", "error skipped.operations (shop)",
		"note database.initial.statements (shop)", "note poll.interval.ms (shop)", "note replication (shop.public.orders)", "note replication (shop.public.users)",
		"warning checkpoints (shop.public.orders)", "warning checkpoints (shop.public.users)", "warning decimal.handling.mode (shop)",
	}
	if !slices.Equal(bad, want) {
		t.Fatalf("found\n  %s\nand not\n  %s", strings.Join(bad, "\n  "), strings.Join(want, "\n  "))
	}
	p.carryOut(all)
	p.settle()

	// The same from the beginning, as it is printed for a connector that is
	// still to be made.
	if err := connect.Remove(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a slot that nobody reads", func() bool { return server.Exec(t.Context(), "SELECT pg_drop_replication_slot('shop')") == nil })
	stacktest.Exec(t, server, "DROP PUBLICATION shop", "DROP TABLE freshet_checkpoint, freshet_checkpoint_2")
	asked := p.options
	asked.Connect, asked.Watch = "", 0
	plans, err := doctor.Plans(doctor.Gather(t.Context(), s.config, asked))
	if err != nil {
		t.Fatal(err)
	}
	stacktest.Exec(t, server, plans[0].SQL...)
	settings = plans[0].Connector
	for name, value := range stack.Debezium(server, "shop") { // where its database is
		if strings.HasPrefix(name, "database.") {
			settings[name] = value
		}
	}
	if err := connect.Put(t.Context(), plans[0].Name, settings); err != nil {
		t.Fatal(err)
	}
	p.settle()
}

// settle examines until the connector, which has new settings, is at work.
func (p *patient) settle() {
	p.t.Helper()
	var bad []string
	eventually(p.t, "a connector that is as it should be", func() bool {
		_, bad = p.examine()
		p.t.Logf("%q", bad)
		return len(without(bad, "note ")) == 0
	})
}
