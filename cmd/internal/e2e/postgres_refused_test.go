package e2e

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Each table that cannot be served is refused at start, with what to do.
func TestRealTablesRefused(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		d := newDatabase(t, p.URL("", ""), `DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN`)
		for _, test := range []struct {
			schema string
			spec   row.Spec
			want   string
		}{
			{`CREATE TABLE "T" (a int PRIMARY KEY)`, row.Spec{}, "there is no table t, but T"},
			{`CREATE SCHEMA IF NOT EXISTS s; CREATE TABLE s.t (a int PRIMARY KEY)`, row.Spec{}, "but s.t"},
			{`SELECT 1`, row.Spec{}, "create it"},
			{`SELECT 1`, row.Spec{Table: "a.b.c"}, "SCHEMA.TABLE"},
			{`CREATE TABLE t (a int PRIMARY KEY, b text)`, row.Spec{Key: []string{"b"}}, `CREATE UNIQUE INDEX ON "public"."t" ("b")`},
			{`CREATE TABLE t (a int PRIMARY KEY, b text UNIQUE)`, row.Spec{Key: []string{"b"}}, `ALTER TABLE "public"."t" ALTER COLUMN "b" SET NOT NULL`},
			{`CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL); CREATE UNIQUE INDEX ON t (b) WHERE a > 1`, row.Spec{Key: []string{"b"}}, "covers some rows only"},
			{`CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL); CREATE UNIQUE INDEX ON t (lower(b))`, row.Spec{Key: []string{"b"}}, "nothing says"},
			{`CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL UNIQUE DEFERRABLE)`, row.Spec{Key: []string{"b"}}, "NOT DEFERRABLE"},
			{`CREATE TABLE t (a int PRIMARY KEY DEFERRABLE)`, row.Spec{}, "NOT DEFERRABLE"},
			{`CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL, c text NOT NULL, UNIQUE (b, c))`, row.Spec{Key: []string{"b"}}, "nothing says"},
			{`CREATE TABLE t (a int PRIMARY KEY, b text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON t (b COLLATE "POSIX")`, row.Spec{Key: []string{"b"}}, "compares in another way"},
			{`CREATE TABLE t (a int PRIMARY KEY, b text NOT NULL UNIQUE)`, row.Spec{Key: []string{"b"}}, `ALTER TABLE "public"."t" REPLICA IDENTITY FULL`},
			{`CREATE TABLE t (a int PRIMARY KEY); ALTER TABLE t REPLICA IDENTITY NOTHING`, row.Spec{}, "REPLICA IDENTITY FULL"},
			{`CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL UNIQUE); ALTER TABLE t REPLICA IDENTITY USING INDEX t_b_key`, row.Spec{Key: []string{"b"}}, "REPLICA IDENTITY FULL"},
			{`CREATE TABLE t (a int, b int, PRIMARY KEY (a, b)) PARTITION BY LIST (a);
				CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1); CREATE TABLE "t 2" PARTITION OF t FOR VALUES IN (2);
				ALTER TABLE "t 2" REPLICA IDENTITY NOTHING`, row.Spec{}, `had: ALTER TABLE "public"."t 2" REPLICA IDENTITY FULL`},
			{`CREATE TABLE t (a int PRIMARY KEY) PARTITION BY LIST (a); CREATE UNLOGGED TABLE t1 PARTITION OF t FOR VALUES IN (1)`, row.Spec{}, `ALTER TABLE "public"."t1" SET LOGGED`},
			{`CREATE UNLOGGED TABLE t (a int PRIMARY KEY)`, row.Spec{}, "SET LOGGED"},
			{`CREATE TABLE t (a int PRIMARY KEY); CREATE TABLE child () INHERITS (t)`, row.Spec{}, "inherit"},
			{`CREATE TABLE u (a int PRIMARY KEY); CREATE VIEW t AS SELECT * FROM u`, row.Spec{}, "is a view"},
			{`CREATE SEQUENCE t`, row.Spec{}, "is no table"},
			{`CREATE TABLE t (a int NOT NULL UNIQUE)`, row.Spec{Key: []string{"a"}}, "no primary key"},
			{`CREATE TABLE t (a int PRIMARY KEY)`, row.Spec{Column: "b"}, `no column "b" (it has a)`},
			{`CREATE TABLE t (a numeric PRIMARY KEY)`, row.Spec{}, "of type numeric"},
			{`CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL GENERATED ALWAYS AS (a) STORED UNIQUE); ALTER TABLE t REPLICA IDENTITY FULL`, row.Spec{Key: []string{"b"}}, "is computed"},
			{`CREATE TABLE t (a int PRIMARY KEY)`, row.Spec{Replica: true}, "none is given"},
		} {
			d.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP SCHEMA IF EXISTS s CASCADE")
			d.exec(test.schema)
			test.spec.Name = "use"
			if test.spec.Table == "" {
				test.spec.Table = "t"
			}
			s, _, err := postgres.Open(t.Context(), postgres.Options{URL: d.url}, []row.Spec{test.spec})
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s %+v:\n got %v\nwant %q", test.schema, test.spec, err, test.want)
			}
		}
		d.exec(`DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE t (a int PRIMARY KEY)`)
		_, _, err := postgres.Open(t.Context(), postgres.Options{URL: p.URL("reader", "")}, []row.Spec{{Name: "use", Table: "t"}})
		if err == nil || !strings.Contains(err.Error(), `GRANT SELECT ON "public"."t" TO "reader"`) {
			t.Errorf("without rights: got %v", err)
		}
	})
}

// A server that cannot be used says so with what to do, and tells no secret.
func TestRealServersRefused(t *testing.T) {
	stacktest.Need(t)
	p := stacktest.Postgres(t, stack.PG15, "max_connections = 5", "superuser_reserved_connections = 1")
	newDatabase(t, p.URL("", ""), `CREATE TABLE t (a int PRIMARY KEY);
		DROP ROLE IF EXISTS secretive; DROP ROLE IF EXISTS with_password; DROP ROLE IF EXISTS usual;
		CREATE ROLE with_password; CREATE ROLE secretive LOGIN PASSWORD 'right' IN ROLE with_password;
		CREATE ROLE usual LOGIN; GRANT SELECT ON t TO usual, secretive`)
	base, err := url.Parse(p.URL("", ""))
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(u *url.URL)) string {
		u := *base
		change(&u)
		return u.String()
	}
	for _, test := range []struct{ url, want string }{
		{with(func(u *url.URL) { u.User = url.UserPassword("secretive", "s3cr3t") }), "correct the user or the password"},
		{p.URL("", "nosuch"), "create the database"},
		{with(func(u *url.URL) { u.RawQuery = "sslmode=require" }), "sslmode"},
		{with(func(u *url.URL) { u.Host = "127.0.0.1:1" }), "start the server"},
		{"postgres://u:s3cr3t@h:x/db", "spell it"},
	} {
		_, _, err := postgres.Open(t.Context(), postgres.Options{URL: test.url}, []row.Spec{{Name: "use", Table: "t"}})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(fmt.Sprint(err), "s3cr3t") {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
	// The password may be in the URL, in a .pgpass or in a service file.
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pass":    "*:*:*:secretive:right\n",
		"service": fmt.Sprintf("[shop]\nhost=%s\nport=%s\ndbname=postgres\nuser=secretive\npassword=right\n", base.Hostname(), base.Port()),
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, right := range []string{
		with(func(u *url.URL) { u.User = url.UserPassword("secretive", "right") }),
		with(func(u *url.URL) { u.User, u.RawQuery = url.User("secretive"), "passfile="+dir+"/pass" }),
		"service=shop servicefile=" + dir + "/service",
	} {
		s, _, err := postgres.Open(t.Context(), postgres.Options{URL: right}, []row.Spec{{Name: "use", Table: "t"}})
		if err != nil {
			t.Fatalf("%s: %v", right, err)
		}
		s.Close()
	}

	// One more than there are: it waits for the next call, and says why.
	o := postgres.Options{URL: p.URL("usual", "")}
	var open []*postgres.Source
	for err == nil && len(open) < 10 {
		var one *postgres.Source
		if one, _, err = postgres.Open(t.Context(), o, []row.Spec{{Name: "use", Table: "t"}}); err == nil {
			open = append(open, one)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "max_connections") {
		t.Errorf("with all connections taken: got %v", err)
	}
	for _, one := range open {
		one.Close()
	}
}

// A server that is a standby is not taken for a primary.
func TestRealStandbyIsNoPrimary(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		d := newDatabase(t, p.URL("", ""), `CREATE TABLE t (a int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1)`)
		standby := stacktest.Standby(t, p, "second")
		specs := []row.Spec{{Name: "t", Table: "t"}}
		_, _, err := postgres.Open(t.Context(), postgres.Options{URL: standby.URL("", "")}, specs)
		if !errors.Is(err, proxy.ErrNotPrimary) || !strings.Contains(err.Error(), "name the primary") {
			t.Errorf("got %v", err)
		}
		_, _, err = postgres.Open(t.Context(), postgres.Options{URL: stacktest.PgBouncer(t, standby, "transaction", 2).URL()}, specs)
		if !errors.Is(err, proxy.ErrNotPrimary) {
			t.Errorf("behind a pooler: got %v", err)
		}

		// Of two servers the primary is meant, and after a failover the other.
		both := fmt.Sprintf("postgres://postgres@%s,%s/postgres?sslmode=disable", standby.Address(), p.Address())
		s, catalog := d.open(postgres.Options{URL: both}, specs...)
		before := load(t, s, catalog, "t:1")[0]
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if r := tryLoad(t, s, catalog, "t:1")[0]; r.Err == nil || errors.Is(r.Err, proxy.ErrUnknownOutcome) {
			t.Errorf("with no primary: got %+v", r)
		}
		if _, _, err := s.Probe(t.Context()); err == nil {
			t.Error("a probe finds a primary where there is none")
		}
		if _, err := standby.Query(t.Context(), "SELECT pg_promote()"); err != nil {
			t.Fatal(err)
		}
		after := load(t, s, catalog, "t:1")[0]
		if !after.Row.Exists() || after.Primary.System != before.Primary.System || after.Primary.Timeline != before.Primary.Timeline+1 {
			t.Errorf("after the failover: %+v, before %+v", after.Primary, before.Primary)
		}
		id, _, err := s.Probe(t.Context())
		if err != nil || id != after.Primary {
			t.Errorf("a probe finds %+v, %v; a fill %+v", id, err, after.Primary)
		}
	})
}
