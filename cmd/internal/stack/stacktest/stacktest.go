package stacktest

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// patience is how long a part may take to start: fetching it, the first time,
// goes over the network.
const patience = 5 * time.Minute

// Need skips the test unless real parts are asked for.
func Need(t testing.TB) {
	t.Helper()
	if os.Getenv("FRESHET_REAL") != "1" {
		t.Skip("needs real parts; FRESHET_REAL=1 in the environment has them started")
	}
}

// start starts a part that ends with the test.
func start[P interface{ Close() error }](t testing.TB, f func(context.Context) (P, error)) P {
	t.Helper()
	Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	part, err := f(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := part.Close(); err != nil {
			t.Error(err)
		}
	})
	return part
}

// show prints the end of what a part has said, if the test has failed.
func show(t testing.TB, name string, p *stack.Process) {
	if p == nil {
		return
	}
	t.Cleanup(func() {
		if t.Failed() {
			lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
			t.Logf("%s said at last:\n%s", name, strings.Join(lines[max(0, len(lines)-40):], "\n"))
		}
	})
}

// Postgres starts a PostgreSQL server.
func Postgres(t testing.TB, v stack.Version, settings ...string) *stack.Postgres {
	t.Helper()
	p := start(t, func(ctx context.Context) (*stack.Postgres, error) { return stack.StartPostgres(ctx, v, settings...) })
	show(t, "PostgreSQL", p.Process)
	return p
}

// Standby starts a hot standby of a server.
func Standby(t testing.TB, primary *stack.Postgres, name string, settings ...string) *stack.Postgres {
	t.Helper()
	p := start(t, func(ctx context.Context) (*stack.Postgres, error) { return primary.Standby(ctx, name, settings...) })
	show(t, "PostgreSQL, standby", p.Process)
	return p
}

// PgBouncer starts a pooler in front of a server.
func PgBouncer(t testing.TB, server *stack.Postgres, mode string, size int) *stack.PgBouncer {
	t.Helper()
	b := start(t, func(ctx context.Context) (*stack.PgBouncer, error) {
		return stack.StartPgBouncer(ctx, server, mode, size)
	})
	show(t, "PgBouncer", b.Process)
	return b
}

// Kafka starts a broker; with a forwarder, clients are led through it.
func Kafka(t testing.TB, through *stack.Forwarder, settings ...string) *stack.Kafka {
	t.Helper()
	k := start(t, func(ctx context.Context) (*stack.Kafka, error) { return stack.StartKafka(ctx, through, settings...) })
	show(t, "Kafka", k.Process)
	return k
}

// Connect starts a worker of Kafka Connect.
func Connect(t testing.TB, k *stack.Kafka, settings ...string) *stack.Connect {
	t.Helper()
	c := start(t, func(ctx context.Context) (*stack.Connect, error) { return stack.StartConnect(ctx, k, settings...) })
	show(t, "Kafka Connect", c.Process)
	return c
}

// Redis starts a redis-server.
func Redis(t testing.TB, args ...string) *stack.Redis {
	t.Helper()
	r := start(t, func(ctx context.Context) (*stack.Redis, error) { return stack.StartRedis(ctx, args...) })
	show(t, "redis-server", r.Process)
	return r
}

// Forwarder starts a forwarder.
func Forwarder(t testing.TB) *stack.Forwarder {
	t.Helper()
	f, err := stack.NewForwarder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// Exec runs statements as the superuser in database postgres.
func Exec(t testing.TB, p *stack.Postgres, statements ...string) {
	t.Helper()
	if err := p.Exec(t.Context(), statements...); err != nil {
		t.Fatal(err)
	}
}
