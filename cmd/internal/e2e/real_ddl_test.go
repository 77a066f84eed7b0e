package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// A change of a table's shape makes no change event, and what it changes is
// seen within the bound all the same.
var shapes = []struct {
	table  string // and use case
	before string // the statements that make it
	change string
	old    string // what GET table:1 answers
	new    string
}{
	{"typed", "CREATE TABLE typed (id int PRIMARY KEY, v int); INSERT INTO typed VALUES (1, 7)",
		"ALTER TABLE typed ALTER COLUMN v TYPE text USING 'n' || v", `{"id":1,"v":7}`, `{"id":1,"v":"n7"}`},
	{"added", "CREATE TABLE added (id int PRIMARY KEY); INSERT INTO added VALUES (1)",
		"ALTER TABLE added ADD COLUMN v int DEFAULT 5", `{"id":1}`, `{"id":1,"v":5}`},
	{"renamed", "CREATE TABLE renamed (id int PRIMARY KEY, v int); INSERT INTO renamed VALUES (1, 7)",
		"ALTER TABLE renamed RENAME COLUMN v TO w", `{"id":1,"v":7}`, `{"id":1,"w":7}`},
	{"dropped", "CREATE TABLE dropped (id int PRIMARY KEY, v int, w int); INSERT INTO dropped VALUES (1, 7, 8)",
		"ALTER TABLE dropped DROP COLUMN v", `{"id":1,"v":7,"w":8}`, `{"id":1,"w":8}`},
	{"detached", "CREATE TABLE detached (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);" +
		"CREATE TABLE detached_1 PARTITION OF detached FOR VALUES FROM (0) TO (10); INSERT INTO detached VALUES (1, 7)",
		"ALTER TABLE detached DETACH PARTITION detached_1", `{"id":1,"v":7}`, Nil},
	{"attached", "CREATE TABLE attached (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);" +
		"CREATE TABLE attached_1 (id int PRIMARY KEY, v int); INSERT INTO attached_1 VALUES (1, 7)",
		"ALTER TABLE attached ATTACH PARTITION attached_1 FOR VALUES FROM (0) TO (10)", Nil, `{"id":1,"v":7}`},
	{"emptied", "CREATE TABLE emptied (id int PRIMARY KEY, v int); INSERT INTO emptied VALUES (1, 7)",
		"TRUNCATE emptied", `{"id":1,"v":7}`, Nil},
	{"leaves", "CREATE TABLE leaves (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);" +
		"CREATE TABLE leaves_1 PARTITION OF leaves FOR VALUES FROM (0) TO (10); INSERT INTO leaves VALUES (1, 7)",
		"TRUNCATE leaves_1", `{"id":1,"v":7}`, Nil},
	{"again", "CREATE TABLE again (id int PRIMARY KEY, v int); INSERT INTO again VALUES (1, 7)",
		"BEGIN; DROP TABLE again; CREATE TABLE again (id int PRIMARY KEY, v text); INSERT INTO again VALUES (1, 'new'); COMMIT",
		`{"id":1,"v":7}`, `{"id":1,"v":"new"}`},
	{"swapped", "CREATE TABLE swapped (id int PRIMARY KEY, v int); INSERT INTO swapped VALUES (1, 7);" +
		"CREATE TABLE swapped_next (id int PRIMARY KEY, v int); INSERT INTO swapped_next VALUES (1, 8)",
		"BEGIN; ALTER TABLE swapped RENAME TO swapped_old; ALTER TABLE swapped_next RENAME TO swapped; COMMIT",
		`{"id":1,"v":7}`, `{"id":1,"v":8}`},
	{"labels", "CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE TABLE labels (id int PRIMARY KEY, v mood); INSERT INTO labels VALUES (1, 'sad')",
		"ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'", `{"id":1,"v":"sad"}`, `{"id":1,"v":"blue"}`},
}

func TestRealSchemaChanges(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		const bound = time.Second
		p := stacktest.Postgres(t, v)
		settings := strings.Builder{}
		settings.WriteString("source: {postgres: {url: \"${URL}\"}}\nuse_cases:\n")
		for _, s := range shapes {
			stacktest.Exec(t, p, s.before)
			fmt.Fprintf(&settings, "  - {name: %s, table: %s, bound: 1s}\n", s.table, s.table)
		}
		r := newRealShop(t, p, stacktest.Kafka(t, nil), settings.String())
		r.relay()
		n := r.node()
		r.await(n)
		c := r.client(n.Address())
		for _, s := range shapes {
			key := s.table + ":1"
			c.becomes(bound, s.old, "GET", key)
			stacktest.Exec(t, p, s.change)
			tolerant(t, c, bound, s.new, "GET", key)
		}
		// And the stream goes on, for those tables too.
		stacktest.Exec(t, p, "UPDATE again SET v = 'newer' WHERE id = 1", "UPDATE renamed SET w = 9 WHERE id = 1")
		tolerant(t, c, bound, `{"id":1,"v":"newer"}`, "GET", "again:1")
		tolerant(t, c, bound, `{"id":1,"w":9}`, "GET", "renamed:1")
		eventually(t, "the node has nothing to complain about", func() bool { _, why := r.ready(n); return why == "ready\n" })
	})
}
