package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// put is a write of one column.
func put(t *testing.T, catalog *proxy.Catalog, key, column, value string) proxy.Write {
	t.Helper()
	k, err := catalog.Key([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return proxy.Write{Key: k, Op: proxy.Put, Fields: []row.Field{{Name: column, Kind: row.Text, Value: []byte(value)}}}
}

func apply(ctx context.Context, s *postgres.Source, writes ...proxy.Write) []proxy.Written {
	results := make([]proxy.Written, len(writes))
	s.Apply(ctx, writes, results)
	return results
}

func shown(r proxy.Result) string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case !r.Row.Exists():
		return ""
	}
	return string(r.Row.AppendJSON(nil))
}

// Connections that a restart has cut are replaced without anybody noticing.
func TestRealRestartOfTheDatabase(t *testing.T) {
	stacktest.Need(t)
	p := stacktest.Postgres(t, stack.PG15)
	d := newDatabase(t, p.URL("", ""), `CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1)`)
	s, catalog := d.open(postgres.Options{}, row.Spec{Name: "t", Table: "t"})
	var wg sync.WaitGroup
	for range 8 { // so that several connections lie in the pool
		wg.Go(func() { apply(t.Context(), s, put(t, catalog, "t:1", "v", "2")) })
	}
	wg.Wait()
	before := load(t, s, catalog, "t:1")[0]
	for range 2 {
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := load(t, s, catalog, "t:1")[0]
		if after.Primary.Started <= before.Primary.Started || !before.Primary.Precedes(after.Primary) || shown(after) != `{"id":1,"v":2}` {
			t.Errorf("after the restart %s of %+v, before %+v", shown(after), after.Primary, before.Primary)
		}
		if r := apply(t.Context(), s, put(t, catalog, "t:1", "v", "2"))[0]; r.Err != nil && !errors.Is(r.Err, proxy.ErrUnknownOutcome) {
			t.Errorf("write after the restart: %v", r.Err)
		}
		if id, _, err := s.Probe(t.Context()); err != nil || id != after.Primary {
			t.Errorf("probe after the restart: %+v, %v", id, err)
		}
		before = after
	}
}

// A backend that is killed takes the server's other processes along, and what
// they had committed and not yet written: the server goes on from its log,
// without having been started anew. It is another life all the same.
//
//	1 a transaction is committed without waiting for the disk, and is visible
//	2 a node fills its row
//	3 a backend crashes, and the transaction has never been: no change tells it
func TestRealCrashOfABackend(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v, "wal_writer_delay = '10s'")
		if !p.Ours() {
			t.Skip("a server of others is not crashed")
		}
		d := newDatabase(t, p.URL("", ""), `CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1)`)
		s, catalog := d.open(postgres.Options{}, row.Spec{Name: "t", Table: "t"})
		before := load(t, s, catalog, "t:1")[0]
		pid, err := p.Query(t.Context(), "SET synchronous_commit = off; UPDATE t SET v = 2; SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
		if err != nil {
			t.Fatal(err)
		}
		if seen := load(t, s, catalog, "t:1")[0]; seen.Primary != before.Primary {
			t.Fatalf("the primary was %+v and is %+v", before.Primary, seen.Primary)
		}
		number, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		if process, err := os.FindProcess(number); err != nil || process.Kill() != nil {
			t.Fatalf("process %d was not killed: %v", number, err)
		}
		var after proxy.Result
		eventually(t, "the server answers again", func() bool {
			now, _ := p.Query(t.Context(), "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
			after = tryLoad(t, s, catalog, "t:1")[0]
			return now != "" && now != pid && after.Err == nil
		})
		if !before.Primary.Precedes(after.Primary) {
			t.Errorf("after the crash %s of %+v, before %+v", shown(after), after.Primary, before.Primary)
		}
		if id, _, err := s.Probe(t.Context()); err != nil || id != after.Primary {
			t.Errorf("probe after the crash: %+v, %v", id, err)
		}
	})
}

// A caller is not kept longer than the limits say, whoever is in the way, and
// what it gets is true.
func TestRealLimits(t *testing.T) {
	stacktest.Need(t)
	p := stacktest.Postgres(t, stack.PG15)
	d := newDatabase(t, p.URL("", ""), `CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1)`)
	o := postgres.Options{Pool: 1, StatementTimeout: 300 * time.Millisecond, AcquireTimeout: 50 * time.Millisecond}
	s, catalog := d.open(o, row.Spec{Name: "t", Table: "t"})
	load(t, s, catalog, "t:1")
	d.exec("BEGIN; LOCK TABLE t")
	waits := make(chan proxy.Result)
	go func() { waits <- tryLoad(t, s, catalog, "t:1")[0] }()
	eventually(t, "the statement waits for the lock", func() bool {
		n, err := p.Query(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted`)
		return err == nil && n == "1"
	})
	if r := tryLoad(t, s, catalog, "t:1")[0]; !errors.Is(r.Err, proxy.ErrUnavailable) || !strings.Contains(r.Err.Error(), "connections") {
		t.Errorf("with the only connection taken: got %v", r.Err)
	}
	if _, _, err := s.Probe(t.Context()); err != nil {
		t.Errorf("a probe has a connection of its own: got %v", err)
	}
	if r := <-waits; !errors.Is(r.Err, proxy.ErrUnavailable) || !strings.Contains(r.Err.Error(), "timeout") {
		t.Errorf("behind a lock: got %v", r.Err)
	}
	if r := apply(t.Context(), s, put(t, catalog, "t:1", "v", "2"))[0]; !errors.Is(r.Err, proxy.ErrUnavailable) {
		t.Errorf("write behind a lock: got %v", r.Err)
	}
	d.exec("COMMIT")
	if got := shown(load(t, s, catalog, "t:1")[0]); got != `{"id":1,"v":1}` {
		t.Errorf("got %s", got)
	}
}

// A connection that is lost while a write commits leaves the outcome unknown,
// and one that is lost before does not.
func TestRealConnectionLostInAWrite(t *testing.T) {
	stacktest.Need(t)
	p := stacktest.Postgres(t, stack.PG15)
	d := newDatabase(t, p.URL("", ""), `CREATE TABLE t (id int PRIMARY KEY, v int);
		CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.v = 2 THEN PERFORM pg_advisory_lock(1); PERFORM pg_advisory_unlock(1); END IF; RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER linger AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION linger()`)
	f := stacktest.Forwarder(t)
	f.To(p.Address())
	s, catalog := d.open(postgres.Options{URL: strings.Replace(d.url, p.Address(), f.Address(), 1)}, row.Spec{Name: "t", Table: "t"})

	d.exec("SELECT pg_advisory_lock(1)")
	joined := put(t, catalog, "t:3", "v", "3")
	joined.Joined = true
	written := make(chan []proxy.Written)
	go func() { written <- apply(t.Context(), s, put(t, catalog, "t:2", "v", "2"), joined) }()
	commits := func() bool {
		n, err := p.Query(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND query = 'COMMIT'`)
		return err == nil && n == "1"
	}
	eventually(t, "the write commits", commits)
	f.Cut()
	for i, r := range <-written {
		if !errors.Is(r.Err, proxy.ErrUnknownOutcome) {
			t.Errorf("write %d: got %v", i, r.Err)
		}
	}
	f.Pass()
	d.exec("SELECT pg_advisory_unlock(1)")
	if r := apply(t.Context(), s, put(t, catalog, "t:1", "v", "1"))[0]; r.Err != nil || !r.Done { // the connection is lost before
		t.Errorf("got %+v", r)
	}

	// A caller that leaves while its write commits.
	d.exec("DELETE FROM t")
	d.exec("SELECT pg_advisory_lock(1)")
	ctx, leave := context.WithCancel(t.Context())
	go func() { written <- apply(ctx, s, put(t, catalog, "t:2", "v", "2")) }()
	eventually(t, "the write commits", commits)
	leave()
	if r := (<-written)[0]; !errors.Is(r.Err, proxy.ErrUnknownOutcome) || !errors.Is(r.Err, context.Canceled) {
		t.Errorf("left alone: got %v", r.Err)
	}
	d.exec("SELECT pg_advisory_unlock(1)")
}

// What the database itself does to a write is done, and what it refuses is
// told in its words.
func TestRealWrites(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		d := newDatabase(t, p.URL("", ""), `
			CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent VALUES (1);
			CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v int CHECK (v < 100), s varchar(3), n numeric(6, 2), c char(3), b bit(3),
				p int REFERENCES parent DEFERRABLE INITIALLY DEFERRED, twice int GENERATED ALWAYS AS (v * 2) STORED, at timestamptz DEFAULT '2000-01-01 00:00Z');
			CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF NEW.v = 13 THEN RAISE EXCEPTION 'not this one'; END IF;
				IF NEW.v = 14 THEN RETURN NULL; END IF;
				NEW.s = coalesce(NEW.s, 'new'); RETURN NEW; END $$;
			CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION guard();
			CREATE TABLE parts (k int, v text, PRIMARY KEY (k)) PARTITION BY RANGE (k);
			CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (10); CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (10) TO (20)`)
		s, catalog := d.open(postgres.Options{}, row.Spec{Name: "t", Table: "t"}, row.Spec{Name: "parts", Table: "parts"})
		for _, test := range []struct{ key, column, value, refused, row string }{
			{"t:7", "v", "7", "", `{"id":7,"v":7,"s":"new","n":null,"c":null,"b":null,"p":null,"twice":14,"at":"2000-01-01 00:00:00+00"}`},
			{"t:7", "n", "1.005", "", `"n":1.01`},
			{"t:7", "c", "a", "", `"c":"a  "`},
			{"t:7", "b", "101", "", `"b":"101"`},
			{"t:7", "at", "2024-01-01 02:00+02", "", `"at":"2024-01-01 00:00:00+00"`},
			{"t:7", "v", "100", `new row for relation "t" violates check constraint "t_v_check"`, `"v":7`},
			{"t:7", "v", "13", "not this one", `"v":7`},
			{"t:7", "v", "14", "", `"v":7`},
			{"t:7", "s", "long", "value too long for type character varying(3)", `"s":"new"`},
			{"t:7", "b", "1", "bit string length 1 does not match type bit(3)", `"b":"101"`},
			{"t:7", "v", "x", `invalid input syntax for type integer: "x"`, `"v":7`},
			{"t:7", "s", "\x00", `invalid byte sequence for encoding "UTF8": 0x00`, `"s":"new"`},
			{"t:7", "p", "2", `insert or update on table "t" violates foreign key constraint "t_p_fkey"`, `"p":null`},
			{"t:7", "p", "1", "", `"p":1`},
			{"t:7", "twice", "1", `column "twice" can only be updated to DEFAULT`, `"twice":14`},
			{"t:7", "id", "8", "column id is part of the key", `"id":7`},
			{"t:9223372036854775807", "v", "1", "integer out of range", ""},
			{"parts:5", "v", "five", "", `{"k":5,"v":"five"}`},
			{"parts:15", "v", "fifteen", "", `{"k":15,"v":"fifteen"}`},
			{"parts:25", "v", "x", `no partition of relation "parts" found for row`, ""},
		} {
			r := apply(t.Context(), s, put(t, catalog, test.key, test.column, test.value))[0]
			var rejected *proxy.RejectedError
			if (test.refused != "") != errors.As(r.Err, &rejected) || rejected != nil && rejected.Reason != test.refused {
				t.Errorf("%s %s = %q: got %v", test.key, test.column, test.value, r.Err)
			}
			if got := shown(load(t, s, catalog, test.key)[0]); !strings.Contains(got, test.row) || (test.row == "") != (got == "") {
				t.Errorf("%s %s = %q: the row is %s", test.key, test.column, test.value, got)
			}
		}
		for _, k := range []string{"parts:\x00", "t:1"} { // no text in PostgreSQL, and no row
			if _, err := catalog.Key([]byte(k)); k == "t:1" && err != nil || k != "t:1" && err == nil {
				t.Errorf("key %q: %v", k, err)
			}
		}
	})
}

// Writes that lock each other out are tried again; both are carried out.
func TestRealDeadlock(t *testing.T) {
	stacktest.Need(t)
	p := stacktest.Postgres(t, stack.PG15, "deadlock_timeout = 20ms")
	d := newDatabase(t, p.URL("", ""), `CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT i, 0 FROM generate_series(1, 20) AS i`)
	s, catalog := d.open(postgres.Options{}, row.Spec{Name: "t", Table: "t"})
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for round := range 20 {
				var writes []proxy.Write
				for i := range 20 {
					n := i + 1
					if w == 1 {
						n = 20 - i
					}
					one := put(t, catalog, fmt.Sprintf("t:%d", n), "v", fmt.Sprint(round))
					one.Joined = i > 0
					writes = append(writes, one)
				}
				for _, r := range apply(t.Context(), s, writes...) {
					if r.Err != nil {
						t.Errorf("got %v", r.Err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// A replica's answers say how old they are and nothing more.
func TestRealReplicaAnswers(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		d := newDatabase(t, p.URL("", ""), `CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1)`)
		standby := stacktest.Standby(t, p, "second")
		o := postgres.Options{Replicas: []string{"postgres://postgres@127.0.0.1:1/postgres", standby.URL("", "")}} // one of them is away
		s, catalog := d.open(o, row.Spec{Name: "far", Table: "t", Replica: true}, row.Spec{Name: "near", Table: "t"})
		fails := func(want string) {
			t.Helper()
			if r := tryLoad(t, s, catalog, "far:1")[0]; !errors.Is(r.Err, proxy.ErrUnavailable) || !strings.Contains(r.Err.Error(), want) {
				t.Errorf("got %+v, want %q", r, want)
			}
		}
		caught := func() {
			t.Helper()
			lsn, err := p.Query(t.Context(), "SELECT pg_current_wal_insert_lsn()")
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the standby catches up", func() bool {
				got, err := standby.Query(t.Context(), "SELECT pg_last_wal_replay_lsn() >= '"+lsn+"'")
				return err == nil && got == "t"
			})
		}
		fails("let the relay write")
		d.exec(postgres.CheckpointDDL)
		caught()
		fails("start the relay")
		checkpoint := func(at int64) {
			t.Helper()
			if _, err := d.client.Exec(t.Context(), postgres.CheckpointWrite, pgx.QueryExecModeExec, at); err != nil {
				t.Fatal(err)
			}
		}
		checkpoint(1_700_000_000_000_000_001)
		caught()
		results := load(t, s, catalog, "far:1", "near:1", "far:2")
		for i, r := range results {
			far := i != 1
			if r.Pinned != far || r.Primary.Known() == far || r.Position.Known() == far || (r.AsOf == 1_700_000_000_000_000_001) != far {
				t.Errorf("answer %d: %+v", i, r)
			}
		}

		// What the replica does not show yet does not move its time.
		if _, err := standby.Query(t.Context(), "SELECT pg_wal_replay_pause()"); err != nil {
			t.Fatal(err)
		}
		d.exec("UPDATE t SET v = 2")
		checkpoint(1_700_000_000_000_000_002)
		results = load(t, s, catalog, "far:1", "near:1")
		if shown(results[0]) != `{"id":1,"v":1}` || results[0].AsOf != 1_700_000_000_000_000_001 || shown(results[1]) != `{"id":1,"v":2}` {
			t.Errorf("got %+v", results)
		}
		if _, err := standby.Query(t.Context(), "SELECT pg_wal_replay_resume()"); err != nil {
			t.Fatal(err)
		}
		caught()
		if r := load(t, s, catalog, "far:1")[0]; shown(r) != `{"id":1,"v":2}` || r.AsOf != 1_700_000_000_000_000_002 {
			t.Errorf("got %+v", r)
		}
		if _, err := standby.Query(t.Context(), "SELECT pg_promote()"); err != nil {
			t.Fatal(err)
		}
		if r := load(t, s, catalog, "far:1")[0]; !r.Pinned || r.Primary.Known() {
			t.Errorf("a replica that has become a primary: %+v", r)
		}
		if r := apply(t.Context(), s, put(t, catalog, "far:1", "v", "3"))[0]; r.Err != nil || shown(load(t, s, catalog, "near:1")[0]) != `{"id":1,"v":3}` {
			t.Errorf("writes go to the primary: %v", r.Err)
		}
	})
}
