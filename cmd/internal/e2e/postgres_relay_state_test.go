package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	pglog "github.com/freshet-cache/freshet/cdc/relay/postgres"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

var usersSpec = row.Spec{Name: "users", Table: "users"}

// has waits for a change.
func (s *shelf) has(t *testing.T, want string) {
	t.Helper()
	s.await(t, want, func(partitions [][]*event.Record) bool {
		for _, records := range partitions {
			for _, r := range records {
				if r.Change != nil && describe(r.Change) == want {
					return true
				}
			}
		}
		return false
	})
}

// checkpoints counts those in the first partition.
func (s *shelf) checkpoints() (n int, last proxy.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.records[0] {
		if r.Checkpoint != nil {
			n, last = n+1, r.Checkpoint.T
		}
	}
	return n, last
}

// async runs a statement that will not end for a while, and returns its end.
func async(t *testing.T, p *stack.Postgres, statement string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- p.Exec(context.WithoutCancel(t.Context()), statement) }()
	return done
}

func syncStandby(t *testing.T, p *stack.Postgres, name string) {
	t.Helper()
	stacktest.Exec(t, p, "ALTER SYSTEM SET synchronous_standby_names = '"+name+"'", "SELECT pg_reload_conf()")
	awaitQuery(t, p, "SHOW synchronous_standby_names", name)
}

// The log has a commit that waits for a standby which does not exist. Neither
// it nor any checkpoint behind it is shipped before the row can be read, and
// the database is told all the time that its reader lives: it would drop one
// that is silent for 10 s.
func TestRelayHoldsWhatIsNotVisible(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		stacktest.Exec(t, p, `CREATE TABLE users (id int PRIMARY KEY, v int)`, `INSERT INTO users VALUES (1, 0), (2, 0)`)
		topic := newShelf(2)
		ship(t, logOptions(p), topic, usersSpec)
		topic.settled(t, p)
		syncStandby(t, p, "nosuch")
		done := async(t, p, `UPDATE users SET v = 1 WHERE id = 1`)
		awaitQuery(t, p, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", "1")
		hidden := clockOf(t, p)
		walsender := "SELECT string_agg(pid::text, ',') FROM pg_stat_replication WHERE application_name = 'freshet relay'"
		pid, _ := p.Query(t.Context(), walsender)
		stacktest.Exec(t, p, "SELECT pg_sleep(12)")
		if got := topic.changes(); len(got) != 1 {
			t.Errorf("shipped %q before it is visible", got)
		}
		if _, last := topic.checkpoints(); last > hidden {
			t.Errorf("a checkpoint passes what is not visible")
		}
		if again, _ := p.Query(t.Context(), walsender); again != pid || pid == "" {
			t.Errorf("the reader of the log was %q and is %q", pid, again)
		}
		syncStandby(t, p, "")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		topic.settled(t, p)
		wantChanges(t, topic, "schema users", "update users id=1 → id=1 v=1, last")
	})
}

// A table joins the publication while a transaction is open that wrote to it:
// that row is not in the log. Nothing is shipped until the transaction has
// ended, and then that anything may have happened to the table.
func TestRelayWaitsForWhatWasNotPublished(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		stacktest.Exec(t, p, `CREATE TABLE users (id int PRIMARY KEY, v int)`, `CREATE TABLE late (id int PRIMARY KEY, v int)`, `INSERT INTO late VALUES (1, 0)`)
		topic := newShelf(2)
		stop := ship(t, logOptions(p), topic, usersSpec)
		topic.settled(t, p)
		stop()
		n, _ := topic.checkpoints()
		stacktest.Exec(t, p, `CREATE TABLE gate (id int)`)
		locker := newDatabaseClient(t, p)
		locker("BEGIN; LOCK TABLE gate")
		done := async(t, p, `DO $$ BEGIN UPDATE late SET v = 1; PERFORM count(*) FROM gate; END $$`)
		awaitQuery(t, p, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'", "1")
		stop = ship(t, logOptions(p), topic, usersSpec, row.Spec{Name: "late", Table: "late"})
		awaitQuery(t, p, "SELECT count(*) FROM pg_publication_tables WHERE tablename = 'late'", "1")
		stacktest.Exec(t, p, `INSERT INTO users VALUES (1, 1)`, "SELECT pg_sleep(1)")
		if again, _ := topic.checkpoints(); again != n || len(topic.changes()) != 1 {
			t.Errorf("%d checkpoints were %d, changes %q", again, n, topic.changes())
		}
		// A restart does not forget to wait.
		stop()
		ship(t, logOptions(p), topic, usersSpec, row.Spec{Name: "late", Table: "late"})
		awaitQuery(t, p, "SELECT count(*) FROM pg_stat_replication WHERE application_name = 'freshet relay' AND state = 'streaming'", "1")
		stacktest.Exec(t, p, "SELECT pg_sleep(1)")
		if again, _ := topic.checkpoints(); again != n || len(topic.changes()) != 1 {
			t.Errorf("after a restart, %d checkpoints were %d, changes %q", again, n, topic.changes())
		}
		locker("COMMIT")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		topic.settled(t, p)
		if got := topic.changes(); !strings.Contains(strings.Join(got, "\n"), "schema late") {
			t.Errorf("shipped %q", got)
		}
		if n := topic.streams(); n != 1 {
			t.Errorf("%d streams", n)
		}
	})
}

// A table is made anew while a relay begins: after it has seen to it that the
// table is published, and before it reads the log.
func TestRelayNoticesATableMadeAnewWhileItBegins(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		const users = `CREATE TABLE users (id int PRIMARY KEY, v int)`
		stacktest.Exec(t, p, users)
		open := newDatabaseClient(t, p)
		open("BEGIN; SELECT pg_current_xact_id()") // which the slot waits for
		topic := newShelf(2)
		ship(t, logOptions(p), topic, usersSpec)
		awaitQuery(t, p, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_create_logical_replication_slot%' AND wait_event_type = 'Lock'", "1")
		stacktest.Exec(t, p, `DROP TABLE users`, users)
		open("COMMIT")
		awaitQuery(t, p, "SELECT count(*) FROM pg_publication_tables WHERE tablename = 'users'", "1")
		topic.settled(t, p)
		stacktest.Exec(t, p, `INSERT INTO users VALUES (1, 1)`)
		topic.has(t, "insert users → id=1 v=1, last")
	})
}

// newDatabaseClient returns a function that runs statements on one connection.
func newDatabaseClient(t *testing.T, p *stack.Postgres) func(string) {
	t.Helper()
	c := connect(t, p)
	return func(sql string) {
		t.Helper()
		if _, err := c.PgConn().Exec(context.WithoutCancel(t.Context()), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
}

// Relays that are ended anywhere, and begin again, ship everything once, as
// one stream.
func TestRelayRestarts(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		stacktest.Exec(t, p, `CREATE TABLE users (id int PRIMARY KEY, v int)`, `INSERT INTO users SELECT i, 0 FROM generate_series(1, 20) AS i`)
		topic := newShelf(3)
		stop := ship(t, logOptions(p), topic, usersSpec)
		topic.settled(t, p)
		for i := 1; i <= 10; i++ {
			stacktest.Exec(t, p, fmt.Sprintf(`UPDATE users SET v = %d WHERE id <= 20`, i))
			stop()
			stop = ship(t, logOptions(p), topic, usersSpec)
		}
		topic.settled(t, p)
		if n := topic.streams(); n != 1 {
			t.Errorf("%d streams", n)
		}
		got := topic.changes()
		if len(got) != 201 || got[200] != "update users id=20 → id=20 v=10, last" {
			t.Errorf("%d changes, the last %s", len(got), got[len(got)-1])
		}
	})
}

// A second relay stands by, says for whom, and takes over.
func TestRelayStandsBy(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		stacktest.Exec(t, p, `CREATE TABLE users (id int PRIMARY KEY, v int)`)
		topic := newShelf(2)
		stop := ship(t, logOptions(p), topic, usersSpec)
		topic.settled(t, p)
		second := pglog.New(logOptions(p), []row.Spec{usersSpec}, logger(t))
		_, err := second.Poll(t.Context(), proxy.Position{})
		if err == nil || !strings.Contains(err.Error(), "stands by") || !strings.Contains(err.Error(), "freshet relay") {
			t.Errorf("the second relay: %v", err)
		}
		ship(t, logOptions(p), topic, usersSpec)
		began := time.Now()
		stop()
		stacktest.Exec(t, p, `INSERT INTO users VALUES (1, 1)`)
		topic.settled(t, p)
		t.Logf("the second took over after %v", time.Since(began))
		if n := topic.streams(); n != 1 {
			t.Errorf("%d streams", n)
		}
		wantChanges(t, topic, "schema users", "insert users → id=1 v=1, last")
	})
}

// streamCases are what makes another stream, and what does not.
func streamCases() []streamCase {
	run := func(statements ...string) func(*testing.T, *stack.Postgres) {
		return func(t *testing.T, p *stack.Postgres) { stacktest.Exec(t, p, statements...) }
	}
	const (
		bulk = "CREATE TABLE bulk AS SELECT repeat('x', 1000) FROM generate_series(1, 100000)"
		miss = "INSERT INTO users VALUES (100, 1)"
		drop = "SELECT pg_drop_replication_slot('freshet')"
	)
	return []streamCase{
		{"nothing", run(), 1},
		{"log of others", run(bulk, "SELECT pg_switch_wal()", "CHECKPOINT"), 1},
		{"the server is started again", func(t *testing.T, p *stack.Postgres) {
			if err := p.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, 2},
		{"the slot is made anew", run(drop, miss, "SELECT pg_create_logical_replication_slot('freshet', 'pgoutput')"), 2},
		{"the slot is dropped", run(drop, miss), 2},
		{"the slot is moved", run(miss, "SELECT pg_replication_slot_advance('freshet', pg_current_wal_lsn())"), 2},
		{"the publication is made anew", run("DROP PUBLICATION freshet", miss), 2},
		{"the slot is lost", func(t *testing.T, p *stack.Postgres) {
			stacktest.Exec(t, p, "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'", "SELECT pg_reload_conf()", bulk, "SELECT pg_switch_wal()", "CHECKPOINT")
			awaitQuery(t, p, "SELECT wal_status FROM pg_replication_slots", "lost")
		}, 2},
	}
}

// idle waits until the server has noticed that nobody reads the slot.
func idle(t *testing.T, p *stack.Postgres) {
	t.Helper()
	awaitQuery(t, p, "SELECT count(*) FROM pg_replication_slots WHERE active", "0")
}

type streamCase struct {
	name    string
	change  func(t *testing.T, p *stack.Postgres)
	streams int
}

func TestRelayStreams(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		for _, test := range streamCases() {
			t.Run(test.name, func(t *testing.T) {
				stacktest.Exec(t, p, "DROP TABLE IF EXISTS users, bulk", "DROP PUBLICATION IF EXISTS freshet",
					"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots", "CREATE TABLE users (id int PRIMARY KEY, v int)")
				topic := newShelf(2)
				stop := ship(t, logOptions(p), topic, usersSpec)
				topic.settled(t, p)
				stop()
				idle(t, p)
				test.change(t, p)
				stop = ship(t, logOptions(p), topic, usersSpec)
				topic.settled(t, p)
				stacktest.Exec(t, p, `INSERT INTO users VALUES (1, 1)`)
				topic.settled(t, p)
				stop()
				idle(t, p)
				if n := topic.streams(); n != test.streams {
					t.Errorf("%d streams, want %d", n, test.streams)
				}
				topic.has(t, "insert users → id=1 v=1, last")
			})
		}
	}, "wal_keep_size = 0", "max_wal_size = 64MB", "min_wal_size = 32MB")
}

// Whatever is done to a table, or to what its values are made of, is announced
// in front of the next checkpoint.
func TestRelayAnnouncesSchemaChanges(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		stacktest.Exec(t, p,
			`CREATE TYPE mood AS ENUM ('sad', 'glad')`, `CREATE TYPE pair AS (a int, b mood)`, `CREATE DOMAIN size AS int`,
			`CREATE TABLE users (id int PRIMARY KEY, v int, m mood, p pair[], s size)`,
			`CREATE TABLE parts (id int, day int, v int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)`,
			`CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)`,
			`CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (10) TO (20)`,
			`INSERT INTO parts SELECT i, i, 0 FROM generate_series(1, 19) AS i`)
		topic := newShelf(2)
		ship(t, logOptions(p), topic, usersSpec, row.Spec{Name: "parts", Table: "parts"})
		topic.settled(t, p)
		for _, test := range []struct {
			statement string
			want      string
		}{
			{`ALTER TABLE users ALTER v TYPE int USING v + 1`, "users"},
			{`ALTER TABLE users ALTER v TYPE text`, "users"},
			{`ALTER TABLE users ADD w text DEFAULT 'x'`, "users"},
			{`ALTER TABLE users RENAME w TO x`, "users"},
			{`ALTER TABLE users DROP x`, "users"},
			{`ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'`, "users"},
			{`ALTER TYPE pair ADD ATTRIBUTE c int`, "users"},
			{`ALTER TABLE users REPLICA IDENTITY FULL`, "users"},
			{`TRUNCATE parts_1`, "parts"},
			{`ALTER TABLE parts DETACH PARTITION parts_1`, "parts"},
			{`ALTER TABLE parts ATTACH PARTITION parts_1 FOR VALUES FROM (0) TO (10)`, "parts"},
			{`DROP TABLE parts_2`, "parts"},
			// What is written under another name, or to a table on its own, is
			// not published, and afterwards all is as it was. One transaction.
			{`ALTER TABLE users RENAME TO away;UPDATE away SET v = 'y';ALTER TABLE away RENAME TO users`, "users"},
			{`ALTER TABLE parts DETACH PARTITION parts_1;UPDATE parts_1 SET v = 1;ALTER TABLE parts ATTACH PARTITION parts_1 FOR VALUES FROM (0) TO (10)`, "parts"},
			{`ALTER SCHEMA public RENAME TO away;UPDATE away.users SET v = 'z';ALTER SCHEMA away RENAME TO public`, "parts, schema users"},
			{`ANALYZE users`, ""},
			{`CREATE INDEX ON users (v)`, ""},
			{`CREATE TABLE unrelated (id int)`, ""},
		} {
			before := len(topic.changes())
			stacktest.Exec(t, p, strings.Split(test.statement, "; ")...)
			topic.settled(t, p)
			got := topic.changes()[before:]
			if test.want == "" && len(got) > 0 || test.want != "" && strings.Join(got, ", ") != "schema "+test.want {
				t.Errorf("%s: shipped %q", test.statement, got)
			}
		}
		// A table that takes the place of another is not published: a session ends.
		before := len(topic.changes())
		stacktest.Exec(t, p, `ALTER TABLE users RENAME TO people`, `CREATE TABLE users (id int PRIMARY KEY, v int)`)
		topic.settled(t, p)
		if got := topic.changes()[before:]; !slices.Contains(got, "schema users") {
			t.Errorf("another table of that name: shipped %q", got)
		}
		stacktest.Exec(t, p, `INSERT INTO users VALUES (1, 1)`)
		topic.has(t, "insert users → id=1 v=1, last")
		if n := topic.streams(); n != 1 {
			t.Errorf("%d streams", n)
		}
	})
}

// What was altered while no relay ran is announced by the next one, and what
// was not altered is not.
func TestRelayAnnouncesWhatItMissed(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		stacktest.Exec(t, p, `CREATE TABLE users (id int PRIMARY KEY, v int)`)
		topic := newShelf(2)
		stop := ship(t, logOptions(p), topic, usersSpec)
		topic.settled(t, p)
		stop()
		stop = ship(t, logOptions(p), topic, usersSpec)
		stacktest.Exec(t, p, `INSERT INTO users VALUES (1, 1)`)
		topic.settled(t, p)
		stop()
		stacktest.Exec(t, p, `ALTER TABLE users ADD w int DEFAULT 7`)
		ship(t, logOptions(p), topic, usersSpec)
		topic.settled(t, p)
		wantChanges(t, topic, "schema users", "insert users → id=1 v=1, last", "schema users")
	})
}

// Any role may write into the log what looks like a checkpoint.
func TestRelayIgnoresForgeries(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		stacktest.Exec(t, p, `CREATE TABLE users (id int PRIMARY KEY, v int)`)
		topic := newShelf(1)
		ship(t, logOptions(p), topic, usersSpec)
		topic.settled(t, p)
		year := "extract(epoch FROM clock_timestamp() + interval '1 year') * 1000000000"
		stacktest.Exec(t, p,
			`SELECT pg_logical_emit_message(true, 'freshet', decode('01' || repeat('00', 8) || lpad(to_hex((`+year+`)::int8), 16, '0') || repeat('00', 16), 'hex'))`,
			`SELECT pg_logical_emit_message(false, 'freshet', 'x')`, `SELECT pg_logical_emit_message(true, 'freshet', '')`,
			`SELECT pg_logical_emit_message(true, 'other', 'x')`)
		topic.settled(t, p)
		_, last := topic.checkpoints()
		if last > proxy.Time(time.Now().Add(time.Hour).UnixNano()) {
			t.Errorf("a checkpoint of the year to come")
		}
	})
}

// What came here by replication has the time that its origin's clock gave it,
// which says nothing of when it could be read here.
func TestRelayIgnoresClocksOfOrigins(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		stacktest.Exec(t, p, `CREATE TABLE users (id int PRIMARY KEY, v int)`, `SELECT pg_replication_origin_create('elsewhere')`)
		topic := newShelf(1)
		ship(t, logOptions(p), topic, usersSpec)
		topic.settled(t, p)
		stacktest.Exec(t, p, `SELECT pg_replication_origin_session_setup('elsewhere');
			SELECT pg_replication_origin_xact_setup('0/1', now() + interval '1 hour'); INSERT INTO users VALUES (1, 1)`)
		topic.settled(t, p)
		topic.mu.Lock()
		defer topic.mu.Unlock()
		shipped := 0
		for _, r := range topic.records[0] {
			if r.Change == nil || r.Change.Op != event.Insert {
				continue
			}
			shipped++
			if late := r.Change.Commit.Sub(topic.reached[0]); late > 0 {
				t.Errorf("a change is as of %v after a checkpoint behind it", late)
			}
		}
		if shipped != 1 {
			t.Errorf("%d changes", shipped)
		}
	})
}

// With its topic away for a while a relay holds what it has read, and the
// server keeps the rest.
func TestRelayWithoutTopic(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		stacktest.Exec(t, p, `CREATE TABLE users (id int PRIMARY KEY, v text)`)
		topic := newShelf(2)
		ship(t, logOptions(p), topic, usersSpec)
		topic.settled(t, p)
		topic.set(true)
		stacktest.Exec(t, p, `INSERT INTO users SELECT i, repeat('x', 1000) FROM generate_series(1, 40000) AS i`, "SELECT pg_sleep(12)")
		topic.set(false)
		topic.settled(t, p)
		if n := len(topic.changes()); n != 40001 {
			t.Errorf("%d changes", n)
		}
		if n := topic.streams(); n != 1 {
			t.Errorf("%d streams", n)
		}
	})
}
