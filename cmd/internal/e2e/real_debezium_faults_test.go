package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// Nothing but the stream can make an item fresh.
const itemsUseCase = `  - {name: item, table: items, bound: 1h, ttl_max: 2h, timeout: 10s}
`

var itemsTable = []string{
	"CREATE TABLE items (id int PRIMARY KEY, v text, big text, n int)",
	"ALTER TABLE items ALTER big SET STORAGE EXTERNAL",
	"INSERT INTO items SELECT i, 'old', CASE WHEN i < 10 THEN repeat('x', 3000) END, 0 FROM generate_series(1, 3000) AS i",
}

// A node behind Debezium: whatever becomes of rows, the node follows; whatever
// becomes of the connector, no read breaks the bound, and what is cached stays.
func TestRealDebezium(t *testing.T) {
	const keys = 200
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, append(seed(keys), itemsTable...)...)
	k := stacktest.Kafka(t, nil)
	// Offsets are not written in time: a worker that is killed sends again
	// what it has sent since its start.
	c := stacktest.Connect(t, k, "offset.flush.interval.ms=600000")
	s := newShipper(t, p, k, c, []string{"versions", "items"}, "errors.max.retries=0", "max.batch.size=64")
	tr := s.tier(versionsUseCase + itemsUseCase)

	followsRows(t, s, tr)

	f := tr.run(keys, 2, time.Second, 10*time.Millisecond)
	before, gaps := tr.share(f), tr.metric("freshet_cdc_gaps_total")
	s.restart()
	killedInside(t, s, tr, f)
	failed(t, s, f)
	silent(t, s, tr)
	tr.well()
	after := tr.share(f)
	if got := tr.metric("freshet_cdc_gaps_total") - gaps; got != 0 {
		t.Errorf("%v gaps, and nothing was missing", got)
	}
	t.Logf("hits: %.1f %% of reads before, %.1f %% after", 100*before, 100*after)
	if before < 0.8 || after < 0.8 {
		t.Errorf("hits: %.1f %% of reads before, %.1f %% after: the cache does not work", 100*before, 100*after)
	}
	f.stop()
	if got := tr.metric("freshet_cdc_undecodable_total"); got != 0 {
		t.Errorf("%v records were not understood", got)
	}
}

// followsRows does to rows what can be done to them.
func followsRows(t *testing.T, s *shipper, tr *tier) {
	t.Helper()
	c := dial(t, tr.listen)
	follows := func(what, want string, args ...string) {
		t.Helper()
		start := time.Now()
		c.becomes(patience, want, args...)
		t.Logf("%s: %v", what, time.Since(start).Round(time.Millisecond))
	}
	cached := func(want string, args ...string) {
		t.Helper()
		c.cached(args[1])
		if got := c.do(args...); got != want {
			t.Fatalf("%v is %s, and should be %s", args, got, want)
		}
	}
	big := strings.Repeat("x", 3000)

	cached("(nil)", "HGET", "item:-1", "v")
	stacktest.Exec(t, s.postgres, "INSERT INTO items VALUES (-1, 'new')")
	follows("insert", "new", "HGET", "item:-1", "v")

	stacktest.Exec(t, s.postgres, "UPDATE items SET v = 'newer' WHERE id = -1")
	follows("update", "newer", "HGET", "item:-1", "v")

	// The big value is not in the record, and the row has it all the same.
	cached(big, "HGET", "item:1", "big")
	stacktest.Exec(t, s.postgres, "UPDATE items SET v = 'toast' WHERE id = 1")
	follows("update of a row with a big value", "toast", "HGET", "item:1", "v")
	cached(big, "HGET", "item:1", "big")

	cached("(nil)", "HGET", "item:-2", "v")
	stacktest.Exec(t, s.postgres, "UPDATE items SET id = -2 WHERE id = -1")
	follows("key, old", "(nil)", "HGET", "item:-1", "v")
	follows("key, new", "newer", "HGET", "item:-2", "v")

	cached("old", "HGET", "item:2", "v")
	stacktest.Exec(t, s.postgres, "DELETE FROM items WHERE id = 2")
	follows("delete", "(nil)", "HGET", "item:2", "v")

	// Rows of a transaction come one by one, and become visible together.
	cached("old", "HGET", "item:3", "v")
	tell(t, s.postgres, "UPDATE items SET v = 'first' WHERE id = 3; DELETE FROM items WHERE id = 3; INSERT INTO items VALUES (3, 'last')")
	follows("all in one transaction", "last", "HGET", "item:3", "v")

	// By default the connector leaves truncations out, and only the fingerprint
	// in the checkpoints tells of them.
	all := "CREATE TABLE saved AS SELECT * FROM items"
	again := "INSERT INTO items SELECT * FROM saved"
	stacktest.Exec(t, s.postgres, all)
	cached("last", "HGET", "item:3", "v")
	stacktest.Exec(t, s.postgres, "TRUNCATE items")
	follows("truncate, left out", "(nil)", "HGET", "item:3", "v")
	stacktest.Exec(t, s.postgres, again)
	follows("rows come back", "last", "HGET", "item:3", "v")

	s.put("skipped.operations=none")
	cached("last", "HGET", "item:3", "v")
	stacktest.Exec(t, s.postgres, "TRUNCATE items")
	follows("truncate", "(nil)", "HGET", "item:3", "v")
	stacktest.Exec(t, s.postgres, again)
	follows("rows come back", "last", "HGET", "item:3", "v")

	stacktest.Exec(t, s.postgres, "ALTER TABLE items ALTER n TYPE text USING 'n' || n")
	follows("schema", "n0", "HGET", "item:4", "n")
}

// cached reads a key until it is answered from memory: so from then on only the
// stream makes it fresh.
func (c *client) cached(key string) {
	c.t.Helper()
	eventually(c.t, key+" is cached", func() bool {
		return strings.HasSuffix(c.do("FRESHET.GET", key, "PROOF"), "origin\nhit")
	})
}

// killedInside kills the worker when it has shipped a part of a transaction: or
// when it was faster than that, again.
func killedInside(t *testing.T, s *shipper, tr *tier, f *traffic) {
	t.Helper()
	c := dial(t, tr.listen)
	watched := []string{"10"}
	for id := 150; id < 3000; id += 150 {
		watched = append(watched, fmt.Sprint(id))
	}
	for attempt, old := 0, 0; attempt < 3 && old == 0; attempt++ {
		for _, id := range watched {
			c.cached("item:" + id)
		}
		all := fmt.Sprintf("all%d", attempt)
		stacktest.Exec(t, s.postgres, "UPDATE items SET v = '"+all+"' WHERE id > 0")
		c.becomes(patience, all, "HGET", "item:10", "v")
		if err := s.connect.Kill(); err != nil {
			t.Fatal(err)
		}
		for _, id := range watched {
			if c.do("HGET", "item:"+id, "v") != all {
				old++
			}
		}
		t.Logf("killed when %d of %d watched rows of a transaction were not there yet", old, len(watched))
		s.kill(0, f)
		for _, id := range watched {
			c.becomes(patience, all, "HGET", "item:"+id, "v")
		}
	}
}

// failed lets the connector's task fail for good, by the end of its connection.
func failed(t *testing.T, s *shipper, f *traffic) {
	t.Helper()
	state := func() (state string) {
		state, _, err := s.connect.TaskState(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	stacktest.Exec(t, s.postgres, "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = 'shop'")
	eventually(t, "the task fails", func() bool { return state() == "FAILED" })
	f.dwell(2 * time.Second)
	s.restart()
}

// silent lets the connector ship rows, and no checkpoints: the node says so, its
// watermark stands, and changes are followed all the same.
func silent(t *testing.T, s *shipper, tr *tier) {
	t.Helper()
	c := dial(t, tr.listen)
	tr.well()
	c.cached("item:20")
	s.put("heartbeat.interval.ms=0")
	eventually(t, "the node says that the watermark stands", func() bool {
		return strings.Contains(fetch(tr.admin, "/readyz"), "watermark")
	})
	stacktest.Exec(t, s.postgres, "UPDATE items SET v = 'silent' WHERE id = 20")
	c.becomes(patience, "silent", "HGET", "item:20", "v")
	s.put()
}
