package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

const replicaSettings = `
source: {postgres: {url: "${URL}", replicas: ["${STANDBY}"]}}
use_cases:
  - {name: versions, table: versions, bound: 1s, read_from: replica, read_only: true}
`

// A use case that is read from a standby has pinned entries only: they never
// rise with the watermark, so they are as old as the standby was, and no
// older than the bound. Where it no longer replays, the primary answers.
func TestRealReplica(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		stacktest.Exec(t, p, seed(3)...)
		standby := stacktest.Standby(t, p, "second")
		s := newRealShop(t, p, stacktest.Kafka(t, nil), replicaSettings, standby)
		s.relay()
		n := s.node()
		s.await(n)
		c := s.client(n.Address())
		const bound = time.Second
		overtaken := func() float64 { return s.metric(n, "freshet_cache_replica_behind_total") }
		for i := range 20 {
			want, behind := fmt.Sprint(i), overtaken()
			stacktest.Exec(t, p, "UPDATE versions SET v = "+want+" WHERE id = 1")
			tolerant(t, c, bound, want, "HGET", "versions:1", "v")
			facts := c.do("FRESHET.EXPLAIN", "versions:1")
			for strings.Contains(facts, "not in memory") { // the change came after the fill, and dropped it
				tolerant(t, c, bound, want, "HGET", "versions:1", "v")
				facts = c.do("FRESHET.EXPLAIN", "versions:1")
			}
			if overtaken() > behind { // a busy machine: the primary was asked, and its answer is lifted
				c.do("FRESHET.INVALIDATE", "versions:1")
				continue
			}
			if !strings.Contains(facts, "pinned") || strings.Contains(facts, "lifted") {
				t.Fatalf("an entry from a standby is not pinned:\n%s", facts)
			}
		}
		stacktest.Exec(t, standby, "SELECT pg_wal_replay_pause()")
		stacktest.Exec(t, p, "UPDATE versions SET v = 100 WHERE id = 1")
		if got := c.do("FRESHET.GET", "versions:1", "STRONG"); !strings.Contains(got, "100") {
			t.Errorf("as fresh as the database: %s", got)
		}
		c.do("FRESHET.INVALIDATE", "versions:1")
		behind := overtaken()
		c.becomes(bound, "100", "HGET", "versions:1", "v")
		for changed := time.Now(); time.Since(changed) < 3*bound; {
			if got := c.do("HGET", "versions:1", "v"); got != "100" {
				t.Fatalf("it goes back to what the standby has: %s", got)
			}
		}
		if overtaken() == behind {
			t.Error("the primary was not asked in the standby's place: this test shows nothing")
		}
		stacktest.Exec(t, standby, "SELECT pg_wal_replay_resume()")
		eventually(t, "the standby answers again", func() bool {
			c.do("FRESHET.INVALIDATE", "versions:1")
			c.do("HGET", "versions:1", "v")
			return strings.Contains(c.do("FRESHET.EXPLAIN", "versions:1"), "pinned")
		})
	})
}

// tolerant is becomes, for a source that may be unavailable for a while.
func tolerant(t *testing.T, c *client, bound time.Duration, want string, args ...string) {
	t.Helper()
	for begun := time.Now(); ; {
		asked := time.Since(begun)
		got, err := c.Do(args...)
		switch {
		case err == nil && got == want:
			return
		case err == nil && asked > bound:
			t.Fatalf("%v: %v after the change, the reply is still %s, not %s", args, asked, got, want)
		case asked > patience:
			t.Fatalf("%v: %v, and never %s", args, err, want)
		}
	}
}
