package e2e

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// A table that is altered is read as it is now, at once and over every
// connection, whatever the stream says about it later.
func TestRealSourceSeesSchemaChanges(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		url := p.URL("", "")
		t.Run("direct", func(t *testing.T) { schemaChanges(t, url, url) })
		t.Run("pooled", func(t *testing.T) { schemaChanges(t, url, stacktest.PgBouncer(t, p, "transaction", 3).URL()) })
	})
}

func schemaChanges(t *testing.T, clientURL, sourceURL string) {
	d := newDatabase(t, clientURL, `CREATE TABLE t (id int PRIMARY KEY, a int, b text); INSERT INTO t SELECT i, i, 'x' FROM generate_series(1, 9) AS i`)
	s, catalog := d.open(postgres.Options{URL: sourceURL}, row.Spec{Name: "t", Table: "t"}, row.Spec{Name: "b", Table: "t", Column: "b"})
	m := catalog.Named("t").Mapping
	for _, step := range []struct{ statement, row, column string }{
		{`SELECT 1`, `{"id":1,"a":1,"b":"x"}`, `{"b":"x"}`},
		{`ALTER TABLE t ADD c text DEFAULT 'new'`, `{"id":1,"a":1,"b":"x","c":"new"}`, `{"b":"x"}`},
		{`ALTER TABLE t ALTER a TYPE text USING 'a' || a`, `{"id":1,"a":"a1","b":"x","c":"new"}`, `{"b":"x"}`},
		{`ALTER TABLE t RENAME c TO d`, `{"id":1,"a":"a1","b":"x","d":"new"}`, `{"b":"x"}`},
		{`ALTER TABLE t DROP a`, `{"id":1,"b":"x","d":"new"}`, `{"b":"x"}`},
		{`ALTER TABLE t ALTER b TYPE bytea USING b::bytea`, `{"id":1,"b":"eA==","d":"new"}`, `{"b":"eA=="}`},
		{`ALTER TABLE t RENAME b TO e`, `{"id":1,"e":"eA==","d":"new"}`, `no column "b"`},
		{`ALTER TABLE t RENAME e TO b`, `{"id":1,"b":"eA==","d":"new"}`, `{"b":"eA=="}`},
		{`ALTER TABLE t RENAME TO away`, `there is no table t`, `there is no table t`},
		{`CREATE TABLE t (id bigint CONSTRAINT t_key PRIMARY KEY, b jsonb); INSERT INTO t SELECT i, '{}' FROM generate_series(1, 9) AS i`, `{"id":1,"b":{}}`, `{"b":{}}`},
		{`ALTER TABLE t DROP CONSTRAINT t_key; INSERT INTO t VALUES (1, '[]')`, `no primary key`, `no primary key`},
		{`DELETE FROM t WHERE b = '[]'; ALTER TABLE t ADD PRIMARY KEY (id)`, `{"id":1,"b":{}}`, `{"b":{}}`},
		{`ALTER TABLE t ALTER id TYPE text`, `start again`, `start again`},
		{`ALTER TABLE t ALTER id TYPE int USING id::int`, `{"id":1,"b":{}}`, `{"b":{}}`},
		{`ALTER TABLE t SET UNLOGGED`, `SET LOGGED`, `SET LOGGED`},
	} {
		d.exec(step.statement)
		if strings.HasSuffix(step.statement, "UNLOGGED") {
			m.Forget() // which the stream's news of it does
			catalog.Named("b").Mapping.Forget()
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for _, keys := range [][]string{{"t:1"}, {"b:1"}, {"t:1", "t:2", "b:1"}, append(keysOf("t", 9), keysOf("b", 9)...)} {
					for i, r := range tryLoad(t, s, catalog, keys...) {
						want := step.row
						if strings.HasPrefix(keys[i], "b") {
							want = step.column
						}
						got := strings.Replace(shown(r), `"a":2`, `"a":1`, 1)
						if !strings.HasSuffix(keys[i], ":1") && strings.HasPrefix(want, "{") {
							continue
						}
						if r.Err != nil && !errors.Is(r.Err, proxy.ErrUnavailable) || !strings.Contains(got, want) {
							t.Errorf("after %s, %s:\n got %s\nwant %s", step.statement, keys[i], got, want)
						}
					}
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		if schema := m.Schema(); (schema != nil) != strings.HasPrefix(step.row, "{") {
			t.Errorf("after %s the schema is %v", step.statement, schema)
		}
	}
}

// A write to a table that was altered fits it as it is now.
func TestRealSourceWritesAfterSchemaChanges(t *testing.T) {
	stacktest.Need(t)
	p := stacktest.Postgres(t, stack.PG15)
	d := newDatabase(t, p.URL("", ""), `CREATE TABLE t (id int PRIMARY KEY, v int)`)
	s, catalog := d.open(postgres.Options{}, row.Spec{Name: "t", Table: "t"})
	for _, step := range []struct{ statement, value, row string }{
		{`SELECT 1`, "1", `{"id":1,"v":1}`},
		{`ALTER TABLE t ALTER v TYPE text`, "one", `{"id":1,"v":"one"}`},
		{`DROP TABLE t; CREATE TABLE t (id bigint PRIMARY KEY, w int, v bytea)`, "\x00", `{"id":1,"w":null,"v":"AA=="}`},
	} {
		d.exec(step.statement)
		catalog.Named("t").Mapping.Forget()
		for _, old := range []bool{false, true} {
			w := put(t, catalog, "t:1", "v", step.value)
			w.Old = old
			if r := apply(t.Context(), s, w)[0]; r.Err != nil || !r.Done || r.Old.Exists() != old {
				t.Errorf("after %s: %+v", step.statement, r)
			}
		}
		if got := shown(load(t, s, catalog, "t:1")[0]); got != step.row {
			t.Errorf("after %s: %s", step.statement, got)
		}
	}
}

// Where row security hides rows from the user, the stream does not: so what
// is read there is kept for the bound only, and nothing replaces it.
func TestRealSourceUnderRowSecurity(t *testing.T) {
	stacktest.Need(t)
	p := stacktest.Postgres(t, stack.PG15)
	d := newDatabase(t, p.URL("", ""), `CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 2);
		DROP ROLE IF EXISTS narrow; CREATE ROLE narrow LOGIN; GRANT ALL ON t TO narrow;
		ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY odd ON t USING (id % 2 = 1) WITH CHECK (v < 10)`)
	s, catalog := d.open(postgres.Options{URL: p.URL("narrow", "")}, row.Spec{Name: "t", Table: "t"})
	results := load(t, s, catalog, "t:1", "t:2")
	if !results[0].Pinned || !results[1].Pinned || !results[0].Row.Exists() || results[1].Row.Exists() || !results[0].Primary.Known() {
		t.Errorf("got %+v", results)
	}
	var rejected *proxy.RejectedError
	if r := apply(t.Context(), s, put(t, catalog, "t:1", "v", "11"))[0]; !errors.As(r.Err, &rejected) || !strings.Contains(rejected.Reason, "row-level security") {
		t.Errorf("got %v", r.Err)
	}
}
