package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/relay"
	pglog "github.com/freshet-cache/freshet/cdc/relay/postgres"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// shelf is a topic in memory, which a test can wait for.
type shelf struct {
	mu         sync.Mutex
	partitions [][][]byte
	records    [][]*event.Record
	reached    []proxy.Time  // the newest T of each partition
	grown      chan struct{} // closed by the next append
	away       bool          // appends wait
}

func newShelf(partitions int) *shelf {
	return &shelf{partitions: make([][][]byte, partitions), records: make([][]*event.Record, partitions),
		reached: make([]proxy.Time, partitions), grown: make(chan struct{})}
}

func (s *shelf) Partitions(context.Context) (int, error) { return len(s.partitions), nil }

func (s *shelf) Last(_ context.Context, partition int, wanted func([]byte) bool) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range slices.Backward(s.partitions[partition]) {
		if wanted(value) {
			return value, nil
		}
	}
	return nil, nil
}

func (s *shelf) Append(ctx context.Context, partition int, values [][]byte) error {
	s.mu.Lock()
	for s.away {
		grown := s.grown
		s.mu.Unlock()
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	for _, v := range values {
		r, err := event.Decode(v)
		if err != nil {
			return err
		}
		s.partitions[partition] = append(s.partitions[partition], v)
		s.records[partition] = append(s.records[partition], r)
		if r.Checkpoint != nil {
			s.reached[partition] = max(s.reached[partition], r.Checkpoint.T)
		}
	}
	close(s.grown)
	s.grown = make(chan struct{})
	return nil
}

func (s *shelf) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
	close(s.grown)
	s.grown = make(chan struct{})
}

// await waits until the records of all partitions satisfy a condition.
func (s *shelf) await(t *testing.T, what string, done func([][]*event.Record) bool) {
	t.Helper()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for {
		s.mu.Lock()
		ok, grown := done(s.records), s.grown
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-grown:
		case <-late.C:
			changes := s.changes()
			t.Fatalf("no %s; of %d changes, the topic has at last\n%s", what, len(changes), strings.Join(changes[max(0, len(changes)-40):], "\n"))
		}
	}
}

var opNames = map[event.Op]string{event.Insert: "insert", event.Update: "update", event.Delete: "delete",
	event.Touch: "touch", event.Truncate: "truncate", event.SchemaChanged: "schema"}

// describe writes a change as "update users id=1 → id=1 name=Ada, last".
func describe(c *event.Change) string {
	fields := func(fields []row.Field) string {
		var out []string
		for _, f := range fields {
			v := string(f.Value)
			switch f.Kind {
			case row.Null:
				v = "∅"
			case row.Unknown:
				v = "?"
			}
			if len(v) > 40 {
				v = fmt.Sprintf("%.4s…%d", v, len(v))
			}
			out = append(out, f.Name+"="+v)
		}
		return strings.Join(out, " ")
	}
	text := opNames[c.Op] + " " + c.Table
	if c.Before != nil {
		text += " " + fields(c.Before)
	}
	if c.After != nil {
		text += " → " + fields(c.After)
	}
	if c.Last {
		text += ", last"
	}
	return text
}

// changes lists what the shelf has been given, without repeats, in the order of
// the log; a change of all rows once.
func (s *shelf) changes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*event.Record
	for _, records := range s.records {
		mark := map[uint64]proxy.Position{}
		for _, r := range records {
			if r.Position.Compare(mark[r.Stream]) <= 0 {
				continue
			}
			mark[r.Stream] = r.Position
			if r.Change != nil {
				all = append(all, r)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *event.Record) int { return a.Position.Compare(b.Position) })
	var out []string
	var last *event.Record
	for _, r := range all {
		if last == nil || last.Position != r.Position {
			out = append(out, describe(r.Change))
		}
		last = r
	}
	return out
}

// streams returns how many streams there have been.
func (s *shelf) streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[uint64]bool{}
	for _, records := range s.records {
		for _, r := range records {
			seen[r.Stream] = true
		}
	}
	return len(seen)
}

// logger writes to the test's log while the test runs.
func logger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
		if t.Context().Err() == nil {
			t.Logf("%s", strings.TrimSpace(string(b)))
		}
		return len(b), nil
	}), nil))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func logOptions(p *stack.Postgres) pglog.Options {
	return pglog.Options{URL: p.URL("", ""), Slot: "freshet", Publication: "freshet", CheckpointInterval: 20 * time.Millisecond}
}

// ship runs a relay from a database to a shelf, and returns what ends it.
func ship(t *testing.T, o pglog.Options, topic relay.Topic, specs ...row.Spec) (stop func()) {
	t.Helper()
	log := pglog.New(o, specs, logger(t))
	r := relay.New(log, topic, logger(t), relay.Options{Slot: o.Slot, CheckpointInterval: time.Millisecond})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Run(ctx)
		_ = log.Close()
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	return stop
}

// settled waits for a checkpoint of a time at which all was visible that has
// been committed by now, in every partition.
func (s *shelf) settled(t *testing.T, p *stack.Postgres) {
	t.Helper()
	s.passes(t, clockOf(t, p))
}

func (s *shelf) passes(t *testing.T, at proxy.Time) {
	t.Helper()
	s.await(t, "checkpoint that passes", func([][]*event.Record) bool { return slices.Min(s.reached) > at })
}

func wantChanges(t *testing.T, s *shelf, want ...string) {
	t.Helper()
	if got := s.changes(); !slices.Equal(got, want) {
		t.Errorf("shipped\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// eachServer runs a test with each version of PostgreSQL.
func eachServer(t *testing.T, f func(t *testing.T, p *stack.Postgres), settings ...string) {
	for _, v := range []stack.Version{stack.PG15, stack.PG17} {
		t.Run(fmt.Sprint("PostgreSQL ", v), func(t *testing.T) { f(t, stacktest.Postgres(t, v, settings...)) })
	}
}

func TestRelayShipsRows(t *testing.T) {
	eachServer(t, func(t *testing.T, p *stack.Postgres) {
		stacktest.Exec(t, p,
			`CREATE TABLE users (id int PRIMARY KEY, name text, photo bytea, n int GENERATED ALWAYS AS (id + 1) STORED)`,
			`ALTER TABLE users ALTER photo SET STORAGE EXTERNAL`,
			`CREATE TABLE other (id int PRIMARY KEY)`,
			`CREATE SCHEMA shop`,
			`CREATE TABLE shop.orders (a int, b text, email text NOT NULL UNIQUE, PRIMARY KEY (b, a))`,
			`ALTER TABLE shop.orders REPLICA IDENTITY FULL`)
		topic := newShelf(3)
		ship(t, logOptions(p), topic, row.Spec{Name: "users", Table: "users"}, row.Spec{Name: "orders", Table: "shop.orders", Key: []string{"email"}})
		topic.settled(t, p)
		stacktest.Exec(t, p,
			`INSERT INTO users VALUES (1, 'Ada', repeat('x', 5000)::bytea)`,
			`UPDATE users SET name = 'Bob' WHERE id = 1`,
			`UPDATE users SET id = 2 WHERE id = 1`,
			`DELETE FROM users WHERE id = 2`,
			`INSERT INTO other VALUES (1)`,
			`INSERT INTO users (id) VALUES (5), (6)`,
			`UPDATE users SET name = 'x' WHERE id > 4`,
			`DO $$ BEGIN UPDATE users SET name = 'y' WHERE id = 5; UPDATE users SET name = 'z' WHERE id = 5; DELETE FROM users WHERE id = 6; END $$`,
			`INSERT INTO shop.orders VALUES (1, 'x', 'e1')`,
			`UPDATE shop.orders SET email = 'e2'`,
			`DELETE FROM shop.orders`,
			`TRUNCATE users, shop.orders`)
		topic.settled(t, p)
		x := fmt.Sprintf(`photo=xxxx…%d`, 5000)
		wantChanges(t, topic,
			"schema users",
			"schema shop.orders",
			"insert users → id=1 name=Ada "+x+", last",
			"update users id=1 → id=1 name=Bob photo=?, last",
			"delete users id=1, last",
			"insert users → id=2 name=Bob photo=?, last",
			"delete users id=2, last",
			"insert users → id=5 name=∅ photo=∅, last",
			"insert users → id=6 name=∅ photo=∅, last",
			"update users id=5 → id=5 name=x photo=∅, last",
			"update users id=6 → id=6 name=x photo=∅, last",
			"update users id=5 → id=5 name=y photo=∅",
			"update users id=5 → id=5 name=z photo=∅, last",
			"delete users id=6, last",
			"insert shop.orders → a=1 b=x email=e1, last",
			"update shop.orders b=x a=1 email=e1 → a=1 b=x email=e2, last",
			"delete shop.orders b=x a=1 email=e2, last",
			"truncate users",
			"truncate shop.orders",
			"schema users",
			"schema shop.orders")
		if n := topic.streams(); n != 1 {
			t.Errorf("%d streams", n)
		}
	})
}

// connect opens a connection that a test keeps.
func connect(t *testing.T, p *stack.Postgres) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), p.URL("", ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
	return c
}
