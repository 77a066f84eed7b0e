package e2e

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy"
)

const gateBound = time.Second

const gateSettings = `
source: {postgres: {url: "${URL}"}}
use_cases:
  - {name: versions, table: versions, bound: 1s, timeout: 10s}
`

// The log brings a commit before anybody can read it, with a synchronous
// standby as long before as the standby takes. The relay holds it back till
// then: the watermark waits, all other reads keep their bound, and once the
// row can be read, so does it.
func TestRealEarlyEvent(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		early, late := earlyEvent(t, v, "full")
		if early {
			t.Error("the new row was answered before anybody could read it")
		}
		if late > gateBound {
			t.Errorf("%v after the row could be read, the node answers the old one", late)
		}
	})
}

// earlyEvent plays the story, with rows or only keys in the stream. It returns
// whether the new row was answered before it could be read, and how long after
// that the old one still was, up to three bounds.
func earlyEvent(t *testing.T, v stack.Version, values string) (early bool, late time.Duration) {
	t.Helper()
	p := stacktest.Postgres(t, v)
	stacktest.Exec(t, p, seed(3)...)
	s := newRealShop(t, p, stacktest.Kafka(t, nil), gateSettings+"relay: {values: "+values+"}\n")
	s.relay()
	n := s.node()
	s.await(n)
	c := s.client(n.Address())
	c.becomes(gateBound, "0", "HGET", "versions:0", "v")

	stacktest.Exec(t, p, "ALTER SYSTEM SET synchronous_standby_names = 'nosuch'", "SELECT pg_reload_conf()")
	awaitQuery(t, p, "SHOW synchronous_standby_names", "nosuch")
	committed := make(chan error, 1)
	go func() {
		committed <- p.Exec(context.WithoutCancel(t.Context()), "UPDATE versions SET v = 1 WHERE id = 0")
	}()
	awaitQuery(t, p, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE 'UPDATE%'", "1")

	// Its event is in the log now, and the row cannot be read: all this time
	// the old value is the right one, and those of other rows keep coming.
	for i, begun := 1, time.Now(); time.Since(begun) < 3*gateBound; i++ {
		early = early || c.do("HGET", "versions:0", "v") != "0"
		local(t, p, "UPDATE versions SET v = v + 1 WHERE id = 1")
		c.becomes(gateBound, query(t, p, "SELECT v FROM versions WHERE id = 1"), "HGET", "versions:1", "v")
	}

	stacktest.Exec(t, p, "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; {
		late = time.Since(begun)
		if c.do("HGET", "versions:0", "v") == "1" || late > 3*gateBound {
			return early, late
		}
	}
}

// local runs a statement whose commit waits for no standby.
func local(t *testing.T, p *stack.Postgres, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.URL("", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, s := range []string{"SET synchronous_commit = local", statement} {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func query(t *testing.T, p *stack.Postgres, q string) string {
	t.Helper()
	got, err := p.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// clockOf is what the clock of a database shows.
func clockOf(t *testing.T, p *stack.Postgres) proxy.Time {
	t.Helper()
	return proxy.Time(number(t, query(t, p, "SELECT (extract(epoch FROM clock_timestamp()) * 1e9)::int8")))
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func awaitQuery(t *testing.T, p *stack.Postgres, q, want string) {
	t.Helper()
	eventually(t, q+" is "+want, func() bool { return query(t, p, q) == want })
}
