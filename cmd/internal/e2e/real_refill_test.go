package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy"
)

const refillSettings = `
source: {postgres: {url: "${URL}"}}
use_cases:
  - {name: types, table: types, bound: 1h, timeout: 10s}
`

// toasted are the rows of which a change leaves out what it did not change: a
// value so long that it is kept beside the row. They are dropped.
var toasted = []int{38}

// A value of any type that comes with a change is byte for byte what a read of
// the database gives, whatever its defaults are; or the entry is dropped.
func TestRealRefills(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		// What is computed does not come with a change, and every row of such
		// a table would be dropped.
		stacktest.Exec(t, p, typesSchema, "ALTER TABLE types DROP COLUMN gen")
		for _, r := range typesRows {
			stacktest.Exec(t, p, "INSERT INTO types "+r.values)
		}
		for _, s := range strange {
			stacktest.Exec(t, p, "SET default_transaction_read_only = off", "ALTER DATABASE postgres SET "+s)
		}
		s := newRealShop(t, p, stacktest.Kafka(t, nil), refillSettings)
		s.relay()
		n := s.node()
		s.await(n)
		c := s.client(n.Address())
		const nobody = "types:0"
		c.cached(nobody)
		for i := range typesRows {
			c.cached(fmt.Sprintf("types:%d", i+1))
		}
		stacktest.Exec(t, p, "SET default_transaction_read_only = off", "UPDATE types SET i8 = 4711")
		applied(t, p, c, nobody)
		var dropped []int
		for i := range typesRows {
			key := fmt.Sprintf("types:%d", i+1)
			proof := c.proof(key)
			if proof["origin"] == "fill" {
				dropped = append(dropped, i+1)
			}
			if value := proof["value"]; !strings.Contains(value, `"i8":4711`) {
				t.Errorf("%s: the change was applied, and a read gives\n%s", key, value)
			}
			if read := c.do("FRESHET.GET", key, "STRONG"); read != proof["value"] {
				t.Errorf("%s: a read gives\n%s\nand the change brought\n%s", key, read, proof["value"])
			}
		}
		if !slices.Equal(dropped, toasted) {
			t.Errorf("dropped were %v, and not %v", dropped, toasted)
		}
	})
}

// applied waits until a node has applied every change that is committed by now.
// It is as of the watermark that a cached key is known to be what it is, if
// nobody changes it. A key that did change tells less: a read that comes while
// its change is being applied is a fill.
func applied(t *testing.T, p *stack.Postgres, c *client, unchanged string) {
	t.Helper()
	now := clockOf(t, p)
	eventually(t, "the changes are applied", func() bool {
		return proxy.Time(number(t, c.proof(unchanged)["as_of"])) > now
	})
}

// proof reads a key, and what is told about the value.
func (c *client) proof(key string) map[string]string {
	c.t.Helper()
	lines := strings.Split(c.do("FRESHET.GET", key, "PROOF"), "\n")
	proof := map[string]string{}
	for i := 0; i+1 < len(lines); i += 2 {
		proof[lines[i]] = lines[i+1]
	}
	return proof
}
