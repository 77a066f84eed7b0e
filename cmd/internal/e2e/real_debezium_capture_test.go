package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/segmentio/kafka-go"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

var capture = flag.Bool("capture", false, "write what the connectors ship into cdc/debezium/testdata, instead of comparing it")

const captured = "../../../cdc/debezium/testdata"

// connectors are the settings whose records the decoder's tests read, a file
// for each: what a setting changes is in at least one of them.
var connectors = []struct {
	name     string
	settings []string
}{
	// The least that people write: keys and values without schemas, and all
	// that the connector leaves out by default.
	{"plain", []string{"key.converter.schemas.enable=false", "value.converter.schemas.enable=false",
		"snapshot.mode=initial", "skipped.operations=none", "provide.transaction.metadata=true", "heartbeat.interval.ms=200",
		"signal.data.collection=public.signals", "signal.enabled.channels=source", "incremental.snapshot.chunk.size=100"}},
	// As Connect has it by default: a schema in each key and value.
	{"schemas", []string{"snapshot.mode=initial"}},
	// A schema in the value only; other forms of numbers, times and bytes.
	{"strings", []string{"key.converter.schemas.enable=false", "decimal.handling.mode=string", "time.precision.mode=connect",
		"binary.handling.mode=hex", "interval.handling.mode=string", "unavailable.value.placeholder=__missing", "skipped.operations=none", "tombstones.on.delete=false"}},
	// A schema in the key only.
	{"doubles", []string{"value.converter.schemas.enable=false", "decimal.handling.mode=double", "time.precision.mode=isostring",
		"binary.handling.mode=base64-url-safe", "skipped.operations=none", "include.schema.comments=true"}},
	// Rows without an envelope, with deletions as rows.
	{"flat", []string{"key.converter.schemas.enable=false", "value.converter.schemas.enable=false", "skipped.operations=none",
		"transforms=flat", "transforms.flat.type=io.debezium.transforms.ExtractNewRecordState",
		"transforms.flat.delete.tombstone.handling.mode=rewrite", "transforms.flat.add.fields=op,schema,table,source.txId,source.snapshot"}},
	// The same with a schema, deletions as rows and tombstones.
	{"flattest", []string{"snapshot.mode=initial",
		"transforms=flat", "transforms.flat.type=io.debezium.transforms.ExtractNewRecordState",
		"transforms.flat.delete.tombstone.handling.mode=rewrite-with-tombstone", "transforms.flat.add.fields=op,schema,table,txId,snapshot"}},
	// As the transform is by default: nothing says of what they are, and a
	// deletion is a tombstone.
	{"bare", []string{"key.converter.schemas.enable=false", "value.converter.schemas.enable=false",
		"transforms=flat", "transforms.flat.type=io.debezium.transforms.ExtractNewRecordState"}},
	// All tables in one topic of another name.
	{"routed", []string{"key.converter.schemas.enable=false", "value.converter.schemas.enable=false", "skipped.operations=none",
		"provide.transaction.metadata=true",
		"transforms=one", "transforms.one.type=org.apache.kafka.connect.transforms.RegexRouter",
		"transforms.one.regex=routed\\..*", "transforms.one.replacement=all-of-it"}},
}

// converters are set for each connector: a setting of a converter counts only
// beside the converter.
var converters = []string{"poll.interval.ms=20",
	"key.converter=org.apache.kafka.connect.json.JsonConverter", "value.converter=org.apache.kafka.connect.json.JsonConverter"}

// captureTables are what the story is told of.
var captureTables = []string{
	`CREATE TABLE users (id int PRIMARY KEY, email text NOT NULL UNIQUE, name text, age smallint, active bool,
		balance numeric(10,2), ratio numeric, score double precision, born date, seen timestamptz, noted timestamp, at time,
		slept interval, photo bytea, doc jsonb, tags text[], numbers int[], big text, bigs bytea)`,
	`ALTER TABLE users ALTER big SET STORAGE EXTERNAL, ALTER bigs SET STORAGE EXTERNAL, ALTER tags SET STORAGE EXTERNAL, ALTER numbers SET STORAGE EXTERNAL`,
	`ALTER TABLE users SET (toast_tuple_target = 128)`,
	`CREATE TABLE orders (region text, id bigint, note text, big text, PRIMARY KEY (id, region))`,
	`ALTER TABLE orders ALTER big SET STORAGE EXTERNAL`,
	`ALTER TABLE orders REPLICA IDENTITY FULL`,
	`CREATE TABLE files (digest bytea PRIMARY KEY, name text)`,
	`CREATE TABLE things (id uuid PRIMARY KEY, code varchar(20) NOT NULL UNIQUE, n numeric(5,0))`,
	`ALTER TABLE things REPLICA IDENTITY FULL`,
	`CREATE SCHEMA "My Schema"`,
	`CREATE TABLE "My Schema"."Odd.Name" ("Id" int PRIMARY KEY, v text)`,
	`CREATE TABLE signals (id text PRIMARY KEY, type text, data text)`,
	`INSERT INTO users VALUES (1, 'ann@shop.example', 'Ann', 30, true, 12.50, 1.5, 0.1, '2001-02-03', '2024-05-06 07:08:09.123456+00',
		'2024-05-06 07:08:09.123456', '07:08:09', '1 day 02:03:04', '\x00ff10', '{"a": [1, null]}', '{x,"y z",NULL}', '{1,2}', 'small', '\x01')`,
	`INSERT INTO orders VALUES ('eu', 7000000000, 'first', NULL)`,
}

// captureStory is told once all connectors follow; each line is a transaction.
var captureStory = []string{
	`INSERT INTO users (id, email, name, balance, ratio) VALUES (2, E'q"\\\u00fc\U0001F600\n@shop.example', NULL, -0.05, 123456789012345678901234567890.5)`,
	`INSERT INTO users (id, email, big, bigs, tags, numbers) VALUES (3, 'big@shop.example', repeat('x', 2100), decode(repeat('ab', 150), 'hex'),
		ARRAY[repeat('t', 150)], array_fill(1, ARRAY[50]))`,
	`UPDATE users SET name = 'Big' WHERE id = 3`,
	`UPDATE users SET id = 30 WHERE id = 3`,
	`UPDATE users SET email = 'ann2@shop.example' WHERE id = 1`,
	`DELETE FROM users WHERE id = 2`,
	`INSERT INTO users (id, email) VALUES (4, 'd@shop.example'); UPDATE users SET age = 4 WHERE id = 4; UPDATE users SET age = 5 WHERE id = 4; DELETE FROM users WHERE id = 4`,
	`INSERT INTO orders VALUES ('us', -1, 'second', repeat('y', 2100))`,
	`UPDATE orders SET note = 'third' WHERE id = -1`,
	`UPDATE orders SET region = 'ap' WHERE id = -1`,
	`DELETE FROM orders`,
	`INSERT INTO files VALUES ('\x00ff', 'a'), ('\xabcdef', 'b'), ('\xfbefbe00', 'c'), ('\x', 'd')`,
	`DELETE FROM files WHERE digest = '\xabcdef'`,
	`INSERT INTO things VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'A:%', 12345)`,
	`UPDATE things SET code = 'B' WHERE code = 'A:%'`,
	`DELETE FROM things`,
	`INSERT INTO "My Schema"."Odd.Name" VALUES (1, 'v')`,
	`SELECT pg_logical_emit_message(true, 'freshet', 'ours')`,
	`SELECT pg_logical_emit_message(true, 'app', 'not ours')`,
	`TRUNCATE orders`,
	`TRUNCATE users, things`,
	`INSERT INTO users (id, email) VALUES (9, 'again@shop.example')`,
	`INSERT INTO signals VALUES ('s', 'execute-snapshot', '{"data-collections": ["public.users"], "type": "incremental"}')`,
}

// captureEnd is the last thing that happens. Each connector has shipped
// everything when it has shipped that.
const captureEnd = `INSERT INTO files VALUES ('\xeeeeee', 'end')`

// What the decoder's tests read is what the connectors ship.
func TestRealDebeziumFixtures(t *testing.T) {
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, captureTables...)
	k := stacktest.Kafka(t, nil)
	c := stacktest.Connect(t, k)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, with := range connectors {
		if err := c.Put(ctx, with.name, stack.Debezium(p, with.name, append(slices.Clone(converters), with.settings...)...)); err != nil {
			t.Fatal(err)
		}
	}
	awaitQuery(t, p, "SELECT count(*) FROM pg_replication_slots WHERE active", fmt.Sprint(len(connectors)))
	all := &topics{t: t, address: k.Address(), read: shipped{}}
	all.await(ctx, "the snapshots", func(topic, value string) bool {
		return strings.Contains(value, `"first"`)
	}, "plain.public.orders", "schemas.public.orders", "flattest.public.orders")
	tell(t, p, captureStory...)
	all.await(ctx, "the incremental snapshot", func(topic, value string) bool {
		return strings.Contains(value, `"snapshot":"incremental"`)
	}, "plain.public.users")
	tell(t, p, captureEnd)
	for _, with := range connectors {
		topic := with.name + ".public.files"
		if with.name == "routed" {
			topic = "all-of-it"
		}
		all.await(ctx, "the end", func(_, value string) bool { return strings.Contains(value, `"end"`) }, topic)
	}
	for _, with := range connectors {
		compareCaptured(t, filepath.Join(captured, with.name+".jsonl"), all.lines(with.name))
	}
}

// tell runs each line as one transaction.
func tell(t *testing.T, p *stack.Postgres, story ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.URL("", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, line := range story {
		if _, err := conn.PgConn().Exec(t.Context(), line).ReadAll(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

// topics reads topics of one partition from their beginning.
type topics struct {
	t       *testing.T
	address string
	read    shipped
}

// shipped is what was read, by topic.
type shipped map[string][]kafka.Message

// await reads topics until one of the values of each is what is looked for.
func (s *topics) await(ctx context.Context, what string, is func(topic, value string) bool, names ...string) {
	s.t.Helper()
	for _, name := range names {
		for !slices.ContainsFunc(s.read[name], func(m kafka.Message) bool { return is(name, string(m.Value)) }) {
			if ctx.Err() != nil {
				s.t.Fatalf("never shipped to %s: %s", name, what)
			}
			s.more(ctx, name)
		}
	}
}

// more reads what a topic has more, for a while.
func (s *topics) more(ctx context.Context, name string) {
	s.t.Helper()
	conn, err := kafka.DialLeader(ctx, "tcp", s.address, name, 0)
	if err != nil {
		time.Sleep(20 * time.Millisecond) // not there yet; whoever asks has a deadline
		return
	}
	defer conn.Close()
	if _, err := conn.Seek(int64(len(s.read[name])), kafka.SeekAbsolute); err != nil {
		s.t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	batch := conn.ReadBatch(1, 1<<20)
	for {
		m, err := batch.ReadMessage()
		if err != nil {
			break // the end of what there is
		}
		s.read[name] = append(s.read[name], m)
	}
	if err := batch.Close(); err != nil && !errors.Is(err, io.EOF) && !os.IsTimeout(err) && !errors.Is(err, kafka.RequestTimedOut) {
		s.t.Logf("read %s: %v", name, err)
	}
}

// lines returns all that a connector has shipped, topic by topic.
func (s *topics) lines(name string) []byte {
	s.t.Helper()
	conn, err := kafka.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	partitions, err := conn.ReadPartitions()
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, p := range partitions {
		of := strings.HasPrefix(p.Topic, name+".") || p.Topic == "__debezium-heartbeat."+name || p.Topic == "all-of-it" && name == "routed"
		if of && !slices.Contains(names, p.Topic) && p.Topic != name+".public.signals" {
			names = append(names, p.Topic)
		}
	}
	slices.Sort(names)
	var out bytes.Buffer
	for _, topic := range names {
		s.more(s.t.Context(), topic)
		records := s.read[topic]
		if strings.HasPrefix(topic, "__debezium-heartbeat.") {
			records = records[:1] // as many as there was time for
		}
		for _, m := range records {
			if !strings.Contains(string(m.Value), "public.signals") && !strings.Contains(string(m.Value), `"table":"signals"`) {
				fmt.Fprintf(&out, `{"topic":%q,"key":%s,"value":%s}`+"\n", m.Topic, orNull(m.Key), orNull(m.Value))
			}
		}
	}
	return normal(out.Bytes())
}

func orNull(b []byte) []byte {
	if b == nil {
		return []byte("null")
	}
	return b
}

// moving is what differs from run to run.
var moving = []struct {
	text *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`"((?:__)?(?:source_)?(?:ts_[mun]s|lsn|txId|xmin))":\d+`), `"$1":1`},
	{regexp.MustCompile(`"sequence":"\[[^\]]*\]"`), `"sequence":"[\"1\",\"1\"]"`},
	{regexp.MustCompile(`"id":"\d+:\d+"`), `"id":"1:1"`},
	{regexp.MustCompile(`(LogicalDecodingMessageId)@[0-9a-f]+`), `$1@1`}, // where Java has it in memory
}

func normal(lines []byte) []byte {
	for _, m := range moving {
		lines = m.text.ReplaceAll(lines, []byte(m.as))
	}
	return lines
}

func compareCaptured(t *testing.T, path string, got []byte) {
	t.Helper()
	if *capture {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			t.Errorf("%s, line %d: the connector ships something else now (run with -capture, and read the difference): %.300q", path, i+1, is[min(i, len(is)-1)])
			return
		}
	}
}
