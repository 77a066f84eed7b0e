package e2e

import (
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// undone are changes of a table's shape that are taken back: the catalog then
// says what it said, and rows that were read in between are not what they were.
var undone = []struct {
	name         string
	there, back  string
	read, reread string // what GET undone:1 answers after each
}{
	{"a column's name", "ALTER TABLE undone RENAME n TO m", "ALTER TABLE undone RENAME m TO n",
		`{"id":1,"m":-1,"mood":"sad"}`, `{"id":1,"n":-1,"mood":"sad"}`},
	{"a column's type", "ALTER TABLE undone ALTER n TYPE oid", "ALTER TABLE undone ALTER n TYPE int",
		`{"id":1,"n":"4294967295","mood":"sad"}`, `{"id":1,"n":-1,"mood":"sad"}`},
	{"a label", "ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'", "ALTER TYPE mood RENAME VALUE 'blue' TO 'sad'",
		`{"id":1,"n":-1,"mood":"blue"}`, `{"id":1,"n":-1,"mood":"sad"}`},
}

const undoneUseCase = `  - {name: undone, table: undone, bound: 1h, ttl_max: 2h, timeout: 10s}
`

var undoneTable = []string{
	"CREATE TYPE mood AS ENUM ('sad', 'glad')",
	"CREATE TABLE undone (id int PRIMARY KEY, n int, mood mood)",
	"INSERT INTO undone VALUES (1, -1, 'sad')",
}

// A change of a table's shape that is undone again while the relay is away is
// noticed when it is back: nothing but the stream can make an entry fresh here.
func TestRealSchemaChangesUndone(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		stacktest.Exec(t, p, undoneTable...)
		r := newRealShop(t, p, stacktest.Kafka(t, nil), "source: {postgres: {url: \"${URL}\"}}\nuse_cases:\n"+undoneUseCase)
		stop := r.relay()
		n := r.node()
		r.await(n)
		c := r.client(n.Address())
		for _, u := range undone {
			stop()
			stacktest.Exec(t, p, u.there)
			if got := c.do("FRESHET.GET", "undone:1", "STRONG"); got != u.read {
				t.Fatalf("%s: read %s, want %s", u.name, got, u.read)
			}
			stacktest.Exec(t, p, u.back)
			stop = r.relay()
			tolerant(t, c, lag, u.reread, "GET", "undone:1")
		}
	})
}

// The fingerprint does not go back, which heartbeats of a connector carry, too.
func TestRealFingerprintNeverGoesBack(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		stacktest.Exec(t, p, undoneTable...)
		s, _, err := postgres.Open(t.Context(), postgres.Options{URL: p.URL("", "")}, []row.Spec{{Name: "undone", Table: "undone"}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, u := range undone {
			before := fingerprint(t, s)
			if again := fingerprint(t, s); again != before {
				t.Errorf("nothing was changed, and the fingerprint is %s after %s", again, before)
			}
			stacktest.Exec(t, p, u.there, u.back)
			if fingerprint(t, s) == before {
				t.Errorf("%s: the fingerprint is what it was", u.name)
			}
		}
	})
}
