package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
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
		for i := range typesRows {
			c.do("GET", fmt.Sprintf("types:%d", i+1)) // in memory from here
		}
		stacktest.Exec(t, p, "SET default_transaction_read_only = off", "UPDATE types SET i8 = 4711")
		var dropped []int
		for i := range typesRows {
			key := fmt.Sprintf("types:%d", i+1)
			value, origin := changed(t, c, key)
			if origin == "fill" {
				dropped = append(dropped, i+1)
			}
			if read := c.do("FRESHET.GET", key, "STRONG"); read != value {
				t.Errorf("%s: a read gives\n%s\nand the change brought\n%s", key, read, value)
			}
		}
		if !slices.Equal(dropped, toasted) {
			t.Errorf("dropped were %v, and not %v", dropped, toasted)
		}
	})
}

// changed waits until the change has come, and returns what the entry is then,
// and whether it was replaced (a hit) or dropped and read anew (a fill).
func changed(t *testing.T, c *client, key string) (value, origin string) {
	t.Helper()
	eventually(t, "the change of "+key+" comes", func() bool {
		lines := strings.Split(c.do("FRESHET.GET", key, "PROOF"), "\n")
		proof := map[string]string{}
		for i := 0; i+1 < len(lines); i += 2 {
			proof[lines[i]] = lines[i+1]
		}
		value, origin = proof["value"], proof["origin"]
		return strings.Contains(value, `"i8":4711`)
	})
	return value, origin
}
