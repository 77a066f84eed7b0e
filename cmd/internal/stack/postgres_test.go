package stack_test

import (
	"slices"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

func query(t *testing.T, p *stack.Postgres, q string) string {
	t.Helper()
	got, err := p.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPostgresKeepsWhatItAcknowledgedOverKill(t *testing.T) {
	for _, v := range []stack.Version{stack.PG15, stack.PG17} {
		t.Run(map[stack.Version]string{stack.PG15: "15", stack.PG17: "17"}[v], func(t *testing.T) {
			p := stacktest.Postgres(t, v)
			stacktest.Exec(t, p, "CREATE TABLE t (n int)", "INSERT INTO t VALUES (1)")
			was := p.Address()
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Query(t.Context(), "SELECT 1"); err == nil {
				t.Error("a killed server answers")
			}
			if err := p.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := query(t, p, "SELECT n FROM t"); got != "1" || p.Address() != was {
				t.Errorf("after kill and start: %q at %s, was at %s", got, p.Address(), was)
			}
			stacktest.Exec(t, p, "ALTER SYSTEM SET max_slot_wal_keep_size = '32MB'")
			if err := p.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := query(t, p, "SHOW max_slot_wal_keep_size"); got != "32MB" {
				t.Errorf("ALTER SYSTEM has set %s", got)
			}
		})
	}
}

func TestStandbyFollowsAndIsPromoted(t *testing.T) {
	for _, v := range []stack.Version{stack.PG15, stack.PG17} {
		p := stacktest.Postgres(t, v)
		stacktest.Exec(t, p, "CREATE TABLE t (n int)", "INSERT INTO t VALUES (1)")
		s := stacktest.Standby(t, p, "second")
		stacktest.Exec(t, p, "INSERT INTO t VALUES (2)")
		if err := s.Caught(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if got := query(t, s, "SELECT string_agg(n::text, ',' ORDER BY n) || pg_is_in_recovery() FROM t"); got != "1,2true" {
			t.Fatalf("the standby has %s", got)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := s.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
		stacktest.Exec(t, s, "INSERT INTO t VALUES (3)")
	}
}

func TestPostgresAsksForPasswordsWhereItShould(t *testing.T) {
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, "CREATE ROLE with_password", "CREATE ROLE app LOGIN PASSWORD 'right' IN ROLE with_password", "CREATE ROLE open LOGIN")
	for _, s := range []struct {
		user string
		ok   bool
	}{{"open", true}, {"app", false}, {"app:right", true}, {"app:wrong", false}} {
		if err := connect(t, p, s.user); (err == nil) != s.ok {
			t.Errorf("%s: %v", s.user, err)
		}
	}
}

func TestPausedPostgresAnswersOnceResumed(t *testing.T) {
	p := stacktest.Postgres(t, stack.PG15)
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- p.Exec(t.Context(), "SELECT 1") }()
	select {
	case err := <-answered:
		t.Errorf("a paused server answers: %v", err)
	case <-time.After(100 * time.Millisecond): // what does not come cannot be waited for otherwise
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestRunningPartIsUsedAndLeftAlone(t *testing.T) {
	t.Setenv("FRESHET_POSTGRES_URL", "postgres://me:secret@db.example:5433/shop?sslmode=require")
	t.Setenv("FRESHET_KAFKA", "kafka.example:9092")
	t.Setenv("FRESHET_REDIS", "redis.example:6379")
	p, err := stack.StartPostgres(t.Context(), stack.PG15)
	if err != nil {
		t.Fatal(err)
	}
	k, err := stack.StartKafka(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := stack.StartRedis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := []string{p.URL("", ""), p.URL("app", "other"), k.Address(), r.Address()}
	want := []string{
		"postgres://me:secret@db.example:5433/shop?sslmode=require", "postgres://app@db.example:5433/other?sslmode=require",
		"kafka.example:9092", "redis.example:6379",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if p.Ours() || k.Ours() || r.Ours() || p.Restart(t.Context()) == nil {
		t.Error("what runs already is taken for ours")
	}
}
