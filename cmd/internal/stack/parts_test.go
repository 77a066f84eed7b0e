package stack_test

import (
	"context"
	"net"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect opens a session as user or user:password.
func connect(t *testing.T, p *stack.Postgres, user string) error {
	t.Helper()
	u, err := url.Parse("postgres://" + user + "@" + p.Address() + "/postgres?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		return err
	}
	return conn.Close(context.WithoutCancel(t.Context()))
}

func TestKafkaAnswersOverKillAndStart(t *testing.T) {
	f := stacktest.Forwarder(t)
	k := stacktest.Kafka(t, f)
	if k.Address() != f.Address() {
		t.Errorf("clients are led to %s, not through %s", k.Address(), f.Address())
	}
	if err := k.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := k.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if k.PID() == 0 {
		t.Error("started, and not running")
	}
}

func TestRedisAnswers(t *testing.T) {
	r := stacktest.Redis(t)
	conn, err := net.Dial("tcp", r.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 7)
	if _, err := conn.Read(reply); err != nil || string(reply) != "+PONG\r\n" {
		t.Errorf("%q, %v", reply, err)
	}
}
