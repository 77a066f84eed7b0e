package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// connector is a hand that writes what a connector would: to topics of its own,
// for a database that cannot be asked what is visible.
type connector struct {
	t      *testing.T
	kafka  *kgo.Client
	source proxy.Identity
	topics map[string]int // partitions
	mute   string         // a topic that gets no heartbeats

	mu  sync.Mutex
	seq int
}

const visibilityLag = 30 * time.Millisecond

// connected is a stack whose node follows a connector's topics.
func connected(t *testing.T, topics map[string]int, names ...string) (*shop, *connector) {
	t.Helper()
	s := newStack(t, everyMapping()...)
	s.t.Cleanup(s.broker().Close)
	s.relay() // to a topic that nobody follows: SQLite has its identity from it
	client, err := kgo.NewClient(kgo.SeedBrokers(s.config.Stream.Kafka.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	c := &connector{t: t, kafka: client, topics: topics}
	for topic, partitions := range topics {
		c.create(topic, partitions)
	}
	d := &s.config.Stream
	d.Format, d.Debezium.Topics, d.Debezium.VisibilityLag = "debezium", names, config.Duration(visibilityLag)
	c.source = s.identity()
	return s, c
}

// identity is the database's, once the relay has made it one.
func (s *shop) identity() (id proxy.Identity) {
	s.t.Helper()
	source, _, err := sqlite.Open(s.t.Context(), sqlite.Options{Path: s.config.Source.SQLite.Path}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer source.Close()
	eventually(s.t, "the database has an identity", func() bool {
		id, _, err = source.Probe(s.t.Context())
		return err == nil
	})
	return id
}

func (c *connector) create(topic string, partitions int) {
	c.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	made := kmsg.NewCreateTopicsRequestTopic()
	made.Topic, made.NumPartitions, made.ReplicationFactor = topic, int32(partitions), 1
	req.Topics = append(req.Topics, made)
	res, err := req.RequestWith(c.t.Context(), c.kafka)
	if err == nil {
		err = kerr.ErrorForCode(res.Topics[0].ErrorCode)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *connector) ship(ctx context.Context, topic string, partition int, key, value string) error {
	return c.kafka.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: int32(partition), Key: []byte(key), Value: []byte(value)}).FirstErr()
}

// change ships an envelope.
func (c *connector) change(topic, table, op, key, before, after string, commit time.Time) {
	c.t.Helper()
	err := c.ship(c.t.Context(), topic, 0, key, fmt.Sprintf(`{"op":%q,"before":%s,"after":%s,"source":{"connector":"postgresql","schema":"public","table":%q,"txId":7,"ts_us":%d,"snapshot":"false"}}`,
		op, before, after, table, commit.UnixMicro()))
	if err != nil {
		c.t.Fatal(err)
	}
}

// beats updates a row for each partition again and again.
func (c *connector) beats(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := c.beat(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (c *connector) beat(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	row := 0
	for _, topic := range slices.Sorted(maps.Keys(c.topics)) {
		for p := range c.topics[topic] {
			row++
			if topic == c.mute {
				continue
			}
			if err := c.row(ctx, topic, p, row, c.seq); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *connector) row(ctx context.Context, topic string, partition, row, seq int) error {
	return c.ship(ctx, topic, partition, fmt.Sprintf(`{"id":%d}`, row), fmt.Sprintf(
		`{"op":"u","before":null,"after":{"id":%d,"seq":%d,"t":%d,"system":%d,"timeline":%d,"started":%d,"slot":"s","fingerprint":null},"source":{"connector":"postgresql","schema":"public","table":"freshet_checkpoint_2","txId":8,"snapshot":"false"}}`,
		row, seq, time.Now().UnixNano(), int64(c.source.System), c.source.Timeline, c.source.Started))
}

// again ships a change from long ago, and a checkpoint that came before.
func (c *connector) again(topic string, change func()) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	if err := c.row(c.t.Context(), topic, 0, 1+c.topics["shop.public.products"], c.seq); err != nil {
		c.t.Fatal(err)
	}
}

func (c *connector) setMute(topic string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mute = topic
}

// A node follows what a connector ships, each table in a topic of its own.
func TestConnectorsTopics(t *testing.T) {
	const users, products = "shop.public.users", "shop.public.products"
	s, c := connected(t, map[string]int{users: 2, products: 1}, users, products)
	c.mute = products
	s.spawn("heartbeats", c.beats)
	n := s.node()
	cl := s.client(n.Address())
	missing := "partition 0 of topic " + products + " has had no checkpoint row"
	eventually(t, "the partition without a row is named", func() bool {
		ok, why := s.ready(n)
		return !ok && strings.Contains(why, missing)
	})
	c.setMute("")
	s.await(n)

	cl.becomes(lag, "37", "HGET", "users:1", "credit")
	s.sql("UPDATE users SET credit = 38 WHERE id = 1")
	if got := cl.do("HGET", "users:1", "credit"); got != "37" {
		t.Fatalf("before the stream tells, credit = %s", got)
	}
	c.change(users, "users", "u", `{"id":1}`, "null", `{"id":1,"email":"x","credit":38}`, time.Now())
	cl.becomes(lag, "38", "HGET", "users:1", "credit")

	cl.becomes(lag, "13", "HGET", "products:sku-001", "stock")
	s.sql("DELETE FROM products WHERE sku = 'sku-001'")
	c.change(products, "products", "d", `{"sku":"sku-001"}`, `{"sku":"sku-001"}`, "null", time.Now())
	cl.becomes(lag, "0", "EXISTS", "products:sku-001")

	// A connector that was started again sends what it sent before.
	cl.becomes(lag, "74", "HGET", "users:2", "credit")
	hits := func() float64 { return s.metric(n, "freshet_cache_hits_total", `use_case="users"`) }
	before := hits()
	c.again(users, func() {
		c.change(users, "users", "u", `{"id":1}`, "null", `{"id":1,"email":"x","credit":37}`, time.Now().Add(-time.Minute))
	})
	cl.becomes(lag, "38", "HGET", "users:1", "credit")
	if cl.becomes(lag, "74", "HGET", "users:2", "credit"); hits() == before {
		t.Error("row 2 was read again")
	}

	// What cannot be understood is told, with its place and what to do.
	if err := c.ship(t.Context(), users, 1, `{"id":1}`, "\x00\x00\x00\x00\x07avro"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is told", func() bool {
		told := cl.do("FRESHET.LAG")
		return strings.Contains(told, "topic "+users+", partition 1") && strings.Contains(told, "JsonConverter")
	})
	for name, least := range map[string]float64{`kind="change"`: 3, `kind="checkpoint"`: 3, `kind="undecodable"`: 1} {
		eventually(t, name+" is counted", func() bool { return s.metric(n, "freshet_debezium_records_total", name) >= least })
	}
	gaps, lies := s.metric(n, "freshet_cdc_gaps_total", `reason="hole"`), s.metric(n, "freshet_cdc_lies_total")
	if gaps != 0 || lies != 0 {
		t.Errorf("%v gaps, %v lies", gaps, lies)
	}
}

// A node that ends while changes wait ends at once.
func TestNodeEndsWhileChangesWait(t *testing.T) {
	const users = "users"
	s, c := connected(t, map[string]int{users: 1}, users)
	s.config.Stream.Debezium.VisibilityLag = config.Duration(time.Hour)
	n := s.node()
	s.spawn("heartbeats", c.beats)
	eventually(t, "checkpoints arrive", func() bool { return s.metric(n, "freshet_debezium_records_total", `kind="checkpoint"`) > 0 })
	c.change(users, "users", "u", `{"id":1}`, "null", `{"id":1}`, time.Now())
	eventually(t, "it is held", func() bool { return s.metric(n, "freshet_debezium_held_records") > 0 })
}

// A relay has nothing to do beside a connector.
func TestRelayBesideAConnector(t *testing.T) {
	s := newStack(t, everyMapping()...)
	s.config.Stream.Format = "debezium"
	if _, err := node.OpenRelay(t.Context(), s.config, s.log()); err == nil || !strings.Contains(err.Error(), "stream.format") {
		t.Error(err)
	}
}
