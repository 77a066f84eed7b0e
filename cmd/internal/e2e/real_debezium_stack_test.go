package e2e

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// debeziumTopic is where a connector of these tests ships everything.
const debeziumTopic = "shipped"

// shipper is a connector that ships tables of a database, with checkpoints.
type shipper struct {
	t        *testing.T
	postgres *stack.Postgres
	kafka    *stack.Kafka
	connect  *stack.Connect
	settings map[string]string
}

// newShipper makes the table of checkpoints, and a connector for it and these
// tables of schema public: what freshet doctor --debezium says, put together
// here. It polls often; settings come after, and win.
func newShipper(t *testing.T, p *stack.Postgres, k *stack.Kafka, c *stack.Connect, tables []string, settings ...string) *shipper {
	t.Helper()
	const checkpoints, rows = "freshet_checkpoint", 16
	ddl, err := postgres.CheckpointRows(checkpoints, rows)
	if err != nil {
		t.Fatal(err)
	}
	stacktest.Exec(t, p, ddl...)
	heartbeat, err := postgres.Heartbeat{Tables: []string{checkpoints}, Mapped: tables, Slot: "shop", Publication: "shop"}.SQL()
	if err != nil {
		t.Fatal(err)
	}
	include := "public." + strings.Join(append([]string{checkpoints}, tables...), ",public.")
	s := &shipper{t: t, postgres: p, kafka: k, connect: c, settings: stack.Debezium(p, "shop", append(append([]string{
		"table.include.list=" + include,
		"topic.creation.default.partitions=" + fmt.Sprint(partitions),
		"transforms=one", "transforms.one.type=org.apache.kafka.connect.transforms.RegexRouter",
		`transforms.one.regex=shop\.public\..*`, "transforms.one.replacement=" + debeziumTopic,
		"heartbeat.interval.ms=100", "heartbeat.action.query=" + heartbeat, "poll.interval.ms=5",
	}, converters[1:]...), settings...)...)}
	s.put()
	return s
}

// put gives the connector its settings, and waits until it follows the log.
func (s *shipper) put(more ...string) {
	s.t.Helper()
	settings := maps.Clone(s.settings)
	for _, m := range more {
		key, value, _ := strings.Cut(m, "=")
		settings[key] = value
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*patience)
	defer cancel()
	if err := s.connect.Put(ctx, "shop", settings); err != nil {
		s.t.Fatal(err)
	}
	s.follows()
}

func (s *shipper) follows() {
	s.t.Helper()
	awaitQuery(s.t, s.postgres, "SELECT active FROM pg_replication_slots WHERE slot_name = 'shop'", "t")
}

// stream is what a configuration says of the connector's topic.
func (s *shipper) stream() string {
	return fmt.Sprintf(`stream: {format: debezium, kafka: {brokers: ["%s"]}, debezium: {topics: [%s]}}`, s.kafka.Address(), debeziumTopic)
}

// tier is a node as a process that follows the connector.
func (s *shipper) tier(useCases string) *tier {
	s.t.Helper()
	tr := newTier(s.t, s.postgres, s.kafka, useCases)
	tr.relay = nil
	tr.write(tr.file, fmt.Sprintf("node: {listen: %q, admin: %q}\nsource: {postgres: {url: \"file:url\"}}\n%s\nuse_cases:\n%s",
		tr.listen, tr.admin, s.stream(), useCases))
	tr.begin(tr.node)
	tr.well()
	return tr
}

// shop is a node in this process that follows the connector.
func (s *shipper) shop(useCases string) *shop {
	s.t.Helper()
	text := fmt.Sprintf("node: {listen: %q, admin: %q}\nsource: {postgres: {url: \"${URL}\"}}\n%s\nuse_cases:\n%s", anyPort, anyPort, s.stream(), useCases)
	return &shop{t: s.t, dir: s.t.TempDir(), config: parse(s.t, text, map[string]string{"URL": s.postgres.URL("", "")})}
}

// restart lets the connector's task begin again.
func (s *shipper) restart() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*patience)
	defer cancel()
	if err := s.connect.RestartTask(ctx, "shop"); err != nil {
		s.t.Fatal(err)
	}
	s.follows()
}

// kill kills the worker, and starts it again after a while.
func (s *shipper) kill(away time.Duration, f *traffic) {
	s.t.Helper()
	if err := s.connect.Kill(); err != nil {
		s.t.Fatal(err)
	}
	f.dwell(away)
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*patience)
	defer cancel()
	if err := s.connect.Start(ctx); err != nil {
		s.t.Fatal(err)
	}
	s.follows()
}
