package e2e

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

var latencies = flag.Int("real.latencies", 10, "how many changes TestRealDebeziumLatency measures with each setting")

// How long after its commit a change is seen, behind a relay and behind a
// connector that polls often, and as rarely as by default: the same changes, on
// entries that only the stream makes fresh. The figures are in the log (-v).
func TestRealDebeziumLatency(t *testing.T) {
	const slow = "  - {name: versions, table: versions, bound: 1h, ttl_max: 2h, timeout: 10s}\n"
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, seed(*latencies)...)
	k := stacktest.Kafka(t, nil)
	relayed := newTier(t, p, k, slow).start()
	s := newShipper(t, p, k, stacktest.Connect(t, k), []string{"versions"})
	shipped := s.tier(slow)
	nodes := []*client{dial(t, relayed.listen), dial(t, shipped.listen)}
	round := func() (took [2][]time.Duration) {
		for key := range *latencies {
			seen := seenAfter(t, p, nodes, fmt.Sprintf("versions:%d", key), fmt.Sprintf("UPDATE versions SET v = v + 1 WHERE id = %d", key))
			for i, d := range seen {
				took[i] = append(took[i], d)
			}
		}
		return took
	}
	round() // Java has to become warm
	for _, poll := range []string{"5", "500"} {
		s.put("poll.interval.ms=" + poll)
		took := round()
		for i, name := range []string{"relay", "Debezium"} {
			slices.Sort(took[i])
			t.Logf("poll.interval.ms=%s: %s: p50 %v, p99 %v, of %d", poll, name, took[i][len(took[i])/2], took[i][len(took[i])*99/100], len(took[i]))
		}
	}
}

// seenAfter makes a change, and returns how long after its commit each node
// answers another value.
func seenAfter(t *testing.T, p *stack.Postgres, nodes []*client, key, change string) []time.Duration {
	t.Helper()
	before := make([]string, len(nodes))
	for i, n := range nodes {
		n.cached(key)
		before[i] = n.do("HGET", key, "v")
	}
	stacktest.Exec(t, p, change)
	committed := time.Now()
	took := make([]time.Duration, len(nodes))
	eventually(t, key+" is seen by all", func() bool {
		all := true
		for i, n := range nodes {
			if took[i] == 0 && n.do("HGET", key, "v") != before[i] {
				took[i] = time.Since(committed)
			}
			all = all && took[i] > 0
		}
		return all
	})
	return took
}
