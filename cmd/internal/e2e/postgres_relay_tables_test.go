package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	pglog "github.com/freshet-cache/freshet/cdc/relay/postgres"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Partitioned tables, and what each replica identity tells.
func TestRelayTables(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		stacktest.Exec(t, p,
			`CREATE TABLE parts (id int, day int, v int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)`,
			`CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)`,
			`CREATE TABLE parts_2 (v int, day int NOT NULL, gone int, id int NOT NULL)`, `ALTER TABLE parts_2 DROP gone`,
			`ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (10) TO (20)`,
			`CREATE TABLE tree (id int PRIMARY KEY) PARTITION BY HASH (id)`,
			`CREATE TABLE leaf PARTITION OF tree FOR VALUES WITH (MODULUS 1, REMAINDER 0)`,
			`CREATE TABLE keyless (a int, b int)`, `ALTER TABLE keyless REPLICA IDENTITY FULL`,
			`CREATE TABLE named (id int PRIMARY KEY, email text NOT NULL UNIQUE)`, `ALTER TABLE named REPLICA IDENTITY USING INDEX named_email_key`,
			`CREATE TABLE moved (id int PRIMARY KEY DEFERRABLE, v int NOT NULL UNIQUE)`, `ALTER TABLE moved REPLICA IDENTITY FULL`)
		topic := newShelf(3)
		ship(t, logOptions(p), topic,
			row.Spec{Name: "p", Table: "parts"}, row.Spec{Name: "l", Table: "leaf"}, row.Spec{Name: "k", Table: "keyless", Key: []string{"a"}},
			row.Spec{Name: "n", Table: "named"}, row.Spec{Name: "e", Table: "named", Key: []string{"email"}}, row.Spec{Name: "m", Table: "moved"})
		topic.settled(t, p)
		first := len(topic.changes())
		stacktest.Exec(t, p,
			`INSERT INTO parts VALUES (1, 1, 1), (1, 11, 1)`,
			`UPDATE parts SET day = 12 WHERE day = 1`,
			`UPDATE parts SET v = 2 WHERE day = 11`,
			`INSERT INTO tree VALUES (1)`, `DELETE FROM leaf`,
			`INSERT INTO keyless VALUES (1, 1)`, `UPDATE keyless SET b = 2`, `UPDATE keyless SET a = 2`,
			`INSERT INTO named VALUES (1, 'x')`, `UPDATE named SET email = 'y'`, `UPDATE named SET id = 2`, `DELETE FROM named`,
			`INSERT INTO moved VALUES (1, 1), (2, 2)`, `UPDATE moved SET id = 3 - id`,
			`CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (20) TO (30)`)
		topic.settled(t, p)
		stacktest.Exec(t, p, `INSERT INTO parts VALUES (1, 21, 1)`)
		topic.settled(t, p)
		got := topic.changes()[first:]
		want := []string{
			"insert parts → id=1 day=1 v=1, last", "insert parts → id=1 day=11 v=1, last",
			"delete parts id=1 day=1, last", "insert parts → id=1 day=12 v=1, last",
			"update parts id=1 day=11 → id=1 day=11 v=2, last",
			"insert leaf → id=1, last", "delete leaf id=1, last",
			"insert keyless → a=1 b=1", "update keyless a=1 → a=1 b=2", "delete keyless a=1", "insert keyless → a=2 b=2",
			"insert named → id=1 email=x", "delete named email=x", "insert named → id=1 email=y", "update named email=y → id=2 email=y", "delete named email=y",
			"insert moved → id=1 v=1, last", "insert moved → id=2 v=2, last",
			"delete moved id=1", "insert moved → id=2 v=1", "delete moved id=2, last", "insert moved → id=1 v=2, last",
			"schema parts", "insert parts → id=1 day=21 v=1, last",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("shipped\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	})
}

// Tables that the log does not have in full are refused, with the mend.
func TestRelayRefusesTables(t *testing.T) {
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p,
		`CREATE TABLE ok (id int PRIMARY KEY)`,
		`CREATE UNLOGGED TABLE quick (id int PRIMARY KEY)`,
		`CREATE TABLE keyless (id int)`,
		`CREATE TABLE mute (id int PRIMARY KEY)`, `ALTER TABLE mute REPLICA IDENTITY NOTHING`,
		`CREATE VIEW seen AS SELECT 1 AS id`,
		`CREATE TABLE parent (id int PRIMARY KEY)`, `CREATE TABLE child () INHERITS (parent)`,
		`CREATE TABLE tree (id int PRIMARY KEY, v int) PARTITION BY RANGE (id)`, `CREATE TABLE leaf PARTITION OF tree FOR VALUES FROM (0) TO (10)`,
		`CREATE TABLE mixed (id int PRIMARY KEY, v int) PARTITION BY RANGE (id)`, `CREATE TABLE mixed_1 PARTITION OF mixed FOR VALUES FROM (0) TO (10)`,
		`ALTER TABLE mixed REPLICA IDENTITY FULL`,
		`CREATE PUBLICATION everything FOR ALL TABLES WITH (publish_via_partition_root = true)`,
		`CREATE ROLE watcher LOGIN REPLICATION`, `GRANT SELECT ON ALL TABLES IN SCHEMA public TO watcher`,
		`SELECT pg_create_physical_replication_slot('physical')`,
		`SELECT pg_create_logical_replication_slot('other', 'test_decoding')`,
		`SELECT pg_create_logical_replication_slot('twophase', 'pgoutput', false, true)`)
	check := func(change func(o *pglog.Options), tables ...string) error {
		o := logOptions(p)
		change(&o)
		var specs []row.Spec
		for _, name := range tables {
			specs = append(specs, row.Spec{Name: name, Table: name})
		}
		return pglog.Check(t.Context(), o, specs)
	}
	nothing := func(*pglog.Options) {}
	for _, test := range []struct {
		name   string
		change func(o *pglog.Options)
		tables []string
		want   string
	}{
		{"all is well", nothing, []string{"ok", "tree"}, ""},
		{"unlogged", nothing, []string{"quick"}, `ALTER TABLE "public"."quick" SET LOGGED`},
		{"no key", nothing, []string{"keyless"}, `ALTER TABLE "public"."keyless" REPLICA IDENTITY FULL`},
		{"no identity", nothing, []string{"mute"}, `ALTER TABLE "public"."mute" REPLICA IDENTITY FULL`},
		{"view", nothing, []string{"seen"}, "no table whose changes"},
		{"inherited", nothing, []string{"parent"}, "inherit"},
		{"partition and its table", nothing, []string{"tree", "leaf"}, "map that instead"},
		{"partition of what is published", func(o *pglog.Options) { o.Publication = "everything" }, []string{"leaf"}, "map that instead"},
		{"everything is published", func(o *pglog.Options) { o.Publication = "everything" }, []string{"ok", "tree"}, ""},
		{"identities that differ", nothing, []string{"mixed"}, "REPLICA IDENTITY"},
		{"physical slot", func(o *pglog.Options) { o.Slot = "physical" }, []string{"ok"}, "physical"},
		{"slot of another plugin", func(o *pglog.Options) { o.Slot = "other" }, []string{"ok"}, "test_decoding"},
		{"slot that sends what is prepared", func(o *pglog.Options) { o.Slot = "twophase" }, []string{"ok"}, "two_phase"},
		{"failover slots", func(o *pglog.Options) { o.Failover = true }, []string{"ok"}, "PostgreSQL 17"},
		{"no right to write checkpoints", func(o *pglog.Options) {
			o.URL, o.Publication, o.CheckpointTable = p.URL("watcher", ""), "everything", true
		}, []string{"ok"}, "CREATE TABLE IF NOT EXISTS public.freshet_checkpoint"},
		{"a user with few rights, where all is set up", func(o *pglog.Options) { o.URL, o.Publication = p.URL("watcher", ""), "everything" }, []string{"ok"}, ""},
	} {
		err := check(test.change, test.tables...)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	if n := query(t, p, "SELECT count(*) FROM pg_publication"); n != "1" {
		t.Errorf("a check has made publications: there are %s", n)
	}
}

// A transaction of a million rows goes through, its rows in order.
func TestRelayMillionRows(t *testing.T) {
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, `CREATE TABLE users (id int PRIMARY KEY, v int)`)
	topic := newShelf(2)
	ship(t, logOptions(p), topic, usersSpec)
	topic.settled(t, p)
	began := time.Now()
	if err := p.Exec(context.WithoutCancel(t.Context()), `INSERT INTO users SELECT i, i FROM generate_series(1, 1000000) AS i`); err != nil {
		t.Fatal(err)
	}
	written := time.Since(began)
	topic.settled(t, p)
	t.Logf("a million rows: written in %v, shipped %v after", written, time.Since(began)-written)
	if n := len(topic.changes()); n != 1000001 {
		t.Errorf("%d changes", n)
	}
}

// A relay whose slot standbys are to keep makes one of a slot that they do not.
func TestRelayFailoverSlot(t *testing.T) {
	p := stacktest.Postgres(t, stack.PG17)
	stacktest.Exec(t, p, `CREATE TABLE users (id int PRIMARY KEY, v int)`)
	topic := newShelf(2)
	stop := ship(t, logOptions(p), topic, usersSpec)
	topic.settled(t, p)
	stop()
	o := logOptions(p)
	o.Failover, o.CheckpointTable = true, true
	ship(t, o, topic, usersSpec)
	topic.settled(t, p)
	awaitQuery(t, p, "SELECT failover FROM pg_replication_slots", "t")
	if topic.streams() != 1 {
		t.Errorf("%d streams", topic.streams())
	}
	if n := query(t, p, "SELECT count(*) FROM freshet_checkpoint WHERE t > extract(epoch FROM now() - interval '1 minute') * 1000000000"); n != "1" {
		t.Errorf("%s rows of checkpoints", n)
	}
}
