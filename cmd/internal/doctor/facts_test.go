package doctor

import (
	"math"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/kafka"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/doctor/pipeline"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// configured reads a configuration.
func configured(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("shop.yaml", []byte(text), func(string) (string, bool) { return "postgres://freshet@db.example/shop", true })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const relayConfig = `
source: {postgres: {url: "${URL}", replicas: ["${URL}"]}}
stream: {kafka: {brokers: ["kafka.example:9092"], topic: changes, tls: {enabled: true}}}
use_cases:
  - {name: users, table: users}
  - {name: by-email, table: users, key: [email]}
  - {name: visits, table: log.visits, read_from: replica, read_only: true, bound: 10s}
`

const debeziumConfig = `
source: {postgres: {url: "${URL}"}}
stream: {format: debezium, kafka: {brokers: ["127.0.0.1:9092"]}, debezium: {topics: [shop.public.users, shop.visits]}}
use_cases:
  - {name: users, table: users}
  - {name: visits, table: log.visits, bound: 5s}
`

// mapped is a table as it should be.
func mapped(spec row.Spec) postgres.Inspected {
	name, _ := postgres.ParseName(spec.Table)
	t := &postgres.Table{
		Name: name, OID: 1, Kind: 'r', Readable: true, User: "freshet",
		Columns: []postgres.Column{{Name: "id", NotNull: true}, {Name: "email", NotNull: true}},
		Unique:  []postgres.Index{{Name: "pk", Columns: []string{"id"}, Primary: true, Usable: true}},
		Leaves:  []postgres.Leaf{{Name: name, Kind: 'r', Logged: true, Full: true}},
	}
	key := spec.Key
	if key == nil {
		key = []string{"id"}
	}
	return postgres.Inspected{Spec: spec, Name: name, Table: t, Key: key, Owned: true, Writable: true, Published: postgres.Membership{In: true}}
}

func database() *postgres.Facts {
	return &postgres.Facts{
		Server: postgres.Server{
			Version: 170005, Settled: true, Encrypted: true, Verified: true, Remote: true, WALLevel: "logical", KeepBytes: 50 << 30,
			Slots: 1, MaxSlots: 10, Senders: 1, MaxSenders: 10, User: "freshet", Replication: true, Create: true, CreateTable: true,
		},
		Publication: postgres.Publication{Name: "freshet", Found: true, Owned: true, ViaRoot: true},
		Slot: postgres.Slot{
			Name: "freshet", Found: true, Logical: true, Plugin: "pgoutput", Here: true, Active: true, Reader: "'freshet relay' from 10.0.0.7",
			Status: "reserved", SafeBytes: math.MaxInt64, LagBytes: 1000, Retained: 5000, Lag: -1,
		},
	}
}

func topicFacts(name string) *kafka.Facts {
	return &kafka.Facts{Topic: name, Found: true, Brokers: 3, Partitions: 4, Replicas: 3, InSync: 3, Records: 10, Settings: map[string]string{
		"cleanup.policy": "delete", "retention.ms": "86400000", "retention.bytes": "-1", "max.message.bytes": "1048588",
		"min.insync.replicas": "2", "unclean.leader.election.enable": "false",
	}}
}

var primary = proxy.Identity{System: 7, Timeline: 1, Started: 3}

func streamOf(slot string) *Stream {
	return &Stream{
		Watched: 10 * time.Second, Partitions: 4, Records: 400, Checkpoints: 400, Bytes: 100_000, Streams: 1, Samples: 99,
		Last:   &event.StreamID{Source: primary, Slot: slot, Topic: 1, Partitions: 4},
		Median: 2 * time.Millisecond, Pipeline: pipeline.Pipeline{Interval: 100 * time.Millisecond, Delay: 20 * time.Millisecond, Width: time.Millisecond},
	}
}

// relayed is a deployment with a relay, as it should be.
func relayed(t *testing.T) *Facts {
	f := &Facts{
		Config: configured(t, relayConfig), Outage: time.Hour, Database: database(),
		Clock:    Clock{Known: true, Offset: 3 * time.Millisecond, Width: 300 * time.Microsecond, Source: primary},
		Topics:   []Topic{{Name: "changes", Facts: topicFacts("changes"), Stream: streamOf("freshet")}},
		Replicas: []Replica{{Facts: &postgres.ReplicaFacts{Standby: true, Checkpoint: 1000, Clock: proxy.Time(time.Second)}}},
		Nodes:    []Endpoint{{Address: "10.0.0.8:6480", Ready: true, Metrics: Metrics{"freshet_watermark_age_seconds": 0.1, "freshet_clock_width_seconds": 0.002, `freshet_cdc_gaps_total{reason="start"}`: 4}}},
		Relays: []Endpoint{
			{Address: "10.0.0.6:6481", Problems: []string{"source: it is read by process 7, 'freshet relay' from 10.0.0.7: this relay stands by until that ends"}, Metrics: Metrics{}},
			{Address: "10.0.0.7:6481", Ready: true, Metrics: Metrics{"freshet_relay_lag_seconds": 0.05, "freshet_relay_postgres_slot_lag_seconds": 0.3}},
		},
	}
	for _, u := range f.Config.UseCases {
		f.Database.Tables = append(f.Database.Tables, mapped(row.Spec{Name: u.Name, Table: u.Table, Key: u.Key, ReadOnly: u.ReadOnly, Replica: u.ReadFrom == "replica"}))
	}
	return f
}

// captured is a deployment with a connector, as it should be.
func captured(t *testing.T) *Facts {
	f := relayed(t)
	f.Config = configured(t, debeziumConfig)
	f.Relays, f.Replicas = nil, nil
	f.Database.Server.Remote = false
	f.Database.Slot.Reader, f.Database.Slot.Name, f.Database.Publication.Name = "'Debezium Streaming' from 10.0.0.9", "debezium", "dbz_publication"
	f.Database.Tables = []postgres.Inspected{mapped(row.Spec{Name: "users", Table: "users"}), mapped(row.Spec{Name: "visits", Table: "log.visits"})}
	f.Topics = nil
	for _, name := range f.Config.Stream.Debezium.Topics {
		s := streamOf("debezium")
		s.Last = nil
		f.Topics = append(f.Topics, Topic{Name: name, Facts: topicFacts(name), Stream: s})
	}
	for _, name := range []string{"freshet_checkpoint", "freshet_checkpoint_2"} {
		table, _ := postgres.ParseName(name)
		f.Database.Checkpoints = append(f.Database.Checkpoints, postgres.CheckpointFacts{Name: table, Found: true, Readable: true, Writable: true, Rows: 26, Published: postgres.Membership{In: true}})
	}
	c := Connector{Name: "shop", From: "http://connect.example:8083", State: "RUNNING", Config: map[string]string{
		"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "topic.prefix": "shop", "plugin.name": "pgoutput",
		"skipped.operations": "none", "heartbeat.interval.ms": "250", "poll.interval.ms": "20", "database.user": "debezium",
		"key.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter": "org.apache.kafka.connect.json.JsonConverter",
		"database.initial.statements": "set JIT=off", "table.include.list": `public\.users,log\.visits,public\.freshet_checkpoint.*`,
		"transforms":            "rows,freshetCheckpoint1,freshetCheckpoint2",
		"transforms.rows.type":  regexRouter,
		"transforms.rows.regex": `(\w+)\.log\.(.*)`, "transforms.rows.replacement": "$1.$2",
		"transforms.freshetCheckpoint1.type": regexRouter, "transforms.freshetCheckpoint1.regex": `shop\.public\.freshet_checkpoint`, "transforms.freshetCheckpoint1.replacement": "shop.public.users",
		"transforms.freshetCheckpoint2.type": regexRouter, "transforms.freshetCheckpoint2.regex": `shop\.public\.freshet_checkpoint_2`, "transforms.freshetCheckpoint2.replacement": "shop.visits",
	}}
	f.Connectors = []Connector{c}
	plan, err := planFor(f, &c)
	if err != nil {
		t.Fatal(err)
	}
	c.Config["heartbeat.action.query"] = plan.Connector["heartbeat.action.query"]
	return f
}

// kept is a deployment over a SQLite file, as it should be.
func kept(t *testing.T) *Facts {
	f := relayed(t)
	f.Config = configured(t, "source: {sqlite: {path: shop.db}}\nuse_cases: [{name: users, table: users}]\nstream: {kafka: {topic: changes}}")
	f.Database, f.Replicas = nil, nil
	f.File = &File{Installed: true, Backlog: 3}
	return f
}
