package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// An event that comes before anybody can read the row: the node holds it, and
// once the row can be read, so it is answered.
func TestRealDebeziumEarlyEvent(t *testing.T) {
	late, followed := earlyDebezium(t, patience)
	if late > gateBound {
		t.Errorf("%v after the row could be read, the node answers the old one", late)
	}
	if !followed {
		t.Error("what only the stream makes fresh is stale")
	}
}

// earlyDebezium plays the story of earlyEvent behind a connector. It returns how
// long after the row could be read the old one still was answered under a bound,
// up to three of them; and whether an entry that only the stream makes fresh
// followed within a time.
func earlyDebezium(t *testing.T, within time.Duration) (late time.Duration, followed bool) {
	t.Helper()
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, seed(3)...)
	k := stacktest.Kafka(t, nil)
	shipper := newShipper(t, p, k, stacktest.Connect(t, k), []string{"versions"}, "topic.creation.default.partitions=1")
	s := shipper.shop(versionsUseCase + "  - {name: slow, table: versions, bound: 1h, ttl_max: 2h, timeout: 10s}\n")
	n := s.node()
	s.await(n)
	c := s.client(n.Address())
	c.becomes(patience, "0", "HGET", "versions:0", "v")
	c.cached("slow:0")

	committed := delayed(t, p)
	(&topics{t: t, address: k.Address(), read: shipped{}}).await(t.Context(), "the early event", func(_, value string) bool {
		return strings.Contains(value, `"after":{"id":0,"v":1,`)
	}, debeziumTopic)
	for begun := time.Now(); time.Since(begun) < 3*gateBound; {
		for _, key := range []string{"versions:0", "slow:0"} {
			if got := c.do("HGET", key, "v"); got != "0" {
				t.Fatalf("%s was answered for %s before anybody could read it", got, key)
			}
		}
		local(t, p, "UPDATE versions SET v = v + 1 WHERE id = 1")
		c.becomes(gateBound, query(t, p, "SELECT v FROM versions WHERE id = 1"), "HGET", "versions:1", "v")
	}
	stacktest.Exec(t, p, "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for late = 0; c.do("HGET", "versions:0", "v") != "1" && late <= 3*gateBound; {
		late = time.Since(begun)
	}
	for !followed && time.Since(begun) < within {
		followed = c.do("HGET", "slow:0", "v") == "1"
	}
	return late, followed
}

// delayed commits an update that is in the log, and cannot be read.
func delayed(t *testing.T, p *stack.Postgres) (committed <-chan error) {
	t.Helper()
	stacktest.Exec(t, p, "ALTER SYSTEM SET synchronous_standby_names = 'nosuch'", "SELECT pg_reload_conf()")
	awaitQuery(t, p, "SHOW synchronous_standby_names", "nosuch")
	done := make(chan error, 1)
	go func() {
		done <- p.Exec(context.WithoutCancel(t.Context()), "UPDATE versions SET v = 1 WHERE id = 0")
	}()
	awaitQuery(t, p, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE 'UPDATE versions%'", "1")
	return done
}
