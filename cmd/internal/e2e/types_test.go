package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// typesSchema makes table types, with a column of each kind of type there is,
// in a database where other settings than Freshet's are the default.
const typesSchema = `
CREATE EXTENSION IF NOT EXISTS citext;
CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE mood AS ENUM ('sad', 'so so', 'it''s "fine"');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN short AS varchar(5);
CREATE DOMAIN shorter AS short CHECK (VALUE <> 'none');
CREATE TABLE types (
	id int PRIMARY KEY,
	i2 smallint, i4 int, i8 bigint, num numeric, num2 numeric(12, 2), f4 real, f8 double precision, cash money,
	b boolean, t text, vc varchar(20), c char(5), n name, ct citext, tc text COLLATE caseless, one "char",
	by bytea, d date, tm time, ttz timetz, ts timestamp, tstz timestamptz(3), iv interval,
	js json, jb jsonb, jp jsonpath, u uuid, e mood, p pair, dp positive, ds shorter,
	ia int[], ta text[], na numeric[], ea mood[], pa pair[], ba bytea[], tza timestamptz[],
	ir int4range, nr numrange, tr tstzrange, mr int4multirange,
	ip inet, cd cidr, mac macaddr, mac8 macaddr8, bi bit(5), vb varbit, x xml,
	pt point, ln line, bx box, pth path, pg polygon, ci circle, tv tsvector, tq tsquery,
	o oid, rc regclass, rt regtype, lsn pg_lsn, snap pg_snapshot,
	gen int GENERATED ALWAYS AS (i2 * 2) STORED
);
ALTER TABLE types ALTER t SET STORAGE EXTERNAL;`

// typesRows are rows of it, and what each is in a cache: the columns that are
// not NULL, as JSON. The last is compared by its length alone.
var typesRows = []struct{ values, want string }{
	{`(id, i2, i4, i8) VALUES (1, -32768, -2147483648, -9223372036854775808)`, `{"i2":-32768,"i4":-2147483648,"i8":-9223372036854775808,"gen":-65536}`},
	{`(id, num, num2) VALUES (2, 0.000, 1)`, `{"num":0.000,"num2":1.00}`},
	{`(id, num) VALUES (3, 'NaN')`, `{"num":"NaN"}`},
	{`(id, num) VALUES (4, '-Infinity')`, `{"num":"-Infinity"}`},
	{`(id, num) VALUES (5, 12345678901234567890123456789.0123456789012345678900)`, `{"num":12345678901234567890123456789.0123456789012345678900}`},
	{`(id, num) VALUES (6, 1e-20)`, `{"num":0.00000000000000000001}`},
	{`(id, f4, f8) VALUES (7, 0.1, 0.1)`, `{"f4":0.1,"f8":0.1}`},
	{`(id, f4, f8) VALUES (8, 'NaN', '-Infinity')`, `{"f4":"NaN","f8":"-Infinity"}`},
	{`(id, f4, f8) VALUES (9, 1e20, '-0')`, `{"f4":1e+20,"f8":-0}`},
	{`(id, f8) VALUES (10, 5e-324)`, `{"f8":5e-324}`},
	{`(id, cash) VALUES (11, '-1234.5')`, `{"cash":"-$1,234.50"}`},
	{`(id, b) VALUES (12, true)`, `{"b":true}`},
	{`(id, b) VALUES (13, false)`, `{"b":false}`},
	{`(id, t, vc, c, n) VALUES (14, '', ' v ', 'ab', 'Na me')`, `{"t":"","vc":" v ","c":"ab   ","n":"Na me"}`},
	{`(id, ct, tc, one) VALUES (15, 'MiXed', 'MiXed', 'x')`, `{"ct":"MiXed","tc":"MiXed","one":"x"}`},
	{`(id, t) VALUES (16, E'\u0001\t\n"\\/\u007f\u0080ü€😀\uFFFF')`, "{\"t\":\"\\u0001\\u0009\\u000a\\\"\\\\/\u007f\u0080ü€😀\uFFFF\"}"},
	{`(id, t) SELECT 17, string_agg(chr(i), '' ORDER BY i) FROM generate_series(1, 1000) AS i`, ``},
	{`(id, "by") VALUES (18, '\x')`, `{"by":""}`},
	{`(id, "by") VALUES (19, '\x00ff10')`, `{"by":"AP8Q"}`},
	{`(id, d, tm, ttz) VALUES (20, '2024-02-29', '23:59:59.999999', '12:00:00-07')`, `{"d":"2024-02-29","tm":"23:59:59.999999","ttz":"12:00:00-07"}`},
	{`(id, d, ts, tstz) VALUES (21, 'infinity', '-infinity', 'infinity')`, `{"d":"infinity","ts":"-infinity","tstz":"infinity"}`},
	{`(id, d, ts, tstz) VALUES (22, '0044-03-15 BC', '0044-03-15 12:00 BC', '0044-03-15 12:00+01 BC')`, `{"d":"0044-03-15 BC","ts":"0044-03-15 12:00:00 BC","tstz":"0044-03-15 11:00:00+00 BC"}`},
	{`(id, ts, tstz) VALUES (23, '12345-01-02', '2024-07-01 00:00:00.1235 Europe/Berlin')`, `{"ts":"12345-01-02 00:00:00","tstz":"2024-06-30 22:00:00.124+00"}`},
	{`(id, iv) VALUES (24, '1 year 2 mons -3 days 04:05:06.789')`, `{"iv":"1 year 2 mons -3 days +04:05:06.789"}`},
	{`(id, js, jb, jp) VALUES (25, '{"b": 1,  "a":[1, null]}', '{"b": 1.50,  "a":[1, null]}', '$.a[*] ? (@ > 1)')`, `{"js":{"b": 1,  "a":[1, null]},"jb":{"a": [1, null], "b": 1.50},"jp":"$.\"a\"[*]?(@ > 1)"}`},
	{`(id, js, jb) VALUES (26, '"x"', 'null')`, `{"js":"x","jb":null}`},
	{`(id, u) VALUES (27, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11')`, `{"u":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}`},
	{`(id, e, p, dp, ds) VALUES (28, 'it''s "fine"', ROW(1, 'a "b", c'), 7, 'abc')`, `{"e":"it's \"fine\"","p":"(1,\"a \"\"b\"\", c\")","dp":7,"ds":"abc"}`},
	{`(id, ia, ta, na) VALUES (29, '[0:1]={1,NULL}', ARRAY['a', NULL, 'NULL', '', '"'], '{1.50,NaN}')`, `{"ia":"[0:1]={1,NULL}","ta":"{a,NULL,\"NULL\",\"\",\"\\\"\"}","na":"{1.50,NaN}"}`},
	{`(id, ea, pa, ba, tza) VALUES (30, '{sad,"so so"}', ARRAY[ROW(1, NULL)::pair], '{"\\x00ff"}', '{2024-01-01 00:00+02}')`, `{"ea":"{sad,\"so so\"}","pa":"{\"(1,)\"}","ba":"{\"\\\\x00ff\"}","tza":"{\"2023-12-31 22:00:00+00\"}"}`},
	{`(id, ir, nr, tr, mr) VALUES (31, '(1,5]', '[1.50,)', '[2024-01-01 00:00+02,infinity]', '{[1,3),[5,6)}')`, `{"ir":"[2,6)","nr":"[1.50,)","tr":"[\"2023-12-31 22:00:00+00\",infinity]","mr":"{[1,3),[5,6)}"}`},
	{`(id, ip, cd, mac, mac8) VALUES (32, '10.0.0.1/24', '10.0.0.0/24', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05')`, `{"ip":"10.0.0.1/24","cd":"10.0.0.0/24","mac":"08:00:2b:01:02:03","mac8":"08:00:2b:01:02:03:04:05"}`},
	{`(id, bi, vb, x) VALUES (33, B'10101', B'', '<a>&lt;</a>')`, `{"bi":"10101","vb":"","x":"<a>&lt;</a>"}`},
	{`(id, pt, ln, bx, pth, pg, ci) VALUES (34, '(0.1,2)', '{1,-1,0}', '(1,1),(0,0)', '[(0,0),(1,1)]', '((0,0),(1,1),(1,0))', '<(0,0),1.5>')`, `{"pt":"(0.1,2)","ln":"{1,-1,0}","bx":"(1,1),(0,0)","pth":"[(0,0),(1,1)]","pg":"((0,0),(1,1),(1,0))","ci":"<(0,0),1.5>"}`},
	{`(id, tv, tq) VALUES (35, 'a:1 ''b c'':2A', 'a & !b')`, `{"tv":"'a':1 'b c':2A","tq":"'a' & !'b'"}`},
	{`(id, o, rc, rt, lsn, snap) VALUES (36, 4294967295, 'types', 'mood', '16/B374D848', '10:20:10,14')`, `{"o":"4294967295","rc":"public.types","rt":"public.mood","lsn":"16/B374D848","snap":"10:20:10,14"}`},
	{`(id, i2) VALUES (37, 21)`, `{"i2":21,"gen":42}`},
	{`(id, t) VALUES (38, repeat('toast', 10000))`, ``},
}

// strange are defaults that no text may depend on.
var strange = []string{
	`DateStyle = 'German, DMY'`, `IntervalStyle = 'iso_8601'`, `TimeZone = 'Asia/Kathmandu'`, `extra_float_digits = -15`,
	`bytea_output = 'escape'`, `xmlbinary = 'hex'`, `xmloption = 'document'`, `lc_monetary = 'C'`, `client_encoding = 'LATIN1'`,
	`search_path = 'public'`, `quote_all_identifiers = on`, `array_nulls = off`, `default_transaction_isolation = 'serializable'`,
	`default_transaction_read_only = on`,
}

// Every value is read as the same text, however it is read and whatever the
// defaults of the database, the role and the pooler are.
func TestRealTypes(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		d := newDatabase(t, p.URL("", ""), typesSchema)
		for _, r := range typesRows {
			d.exec("INSERT INTO types " + r.values)
		}
		for _, s := range strange {
			d.exec("ALTER DATABASE postgres SET " + s)
			d.exec("ALTER ROLE postgres IN DATABASE postgres SET " + s)
		}
		t.Run("direct", func(t *testing.T) { checkTypes(t, p.URL("", "")) })
		t.Run("pooled", func(t *testing.T) { checkTypes(t, stacktest.PgBouncer(t, p, "transaction", 2).URL()) })
	})
}

func checkTypes(t *testing.T, url string) {
	s, catalog, err := postgres.Open(t.Context(), postgres.Options{URL: url}, []row.Spec{{Name: "types", Table: "types"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	together := load(t, s, catalog, keysOf("types", len(typesRows))...)
	for i, r := range typesRows {
		alone := load(t, s, catalog, keysOf("types", i+1)[i])[0]
		if !alone.Row.Equal(together[i].Row) || !alone.Row.Exists() {
			t.Errorf("row %d: read alone %s, together %s", i+1, alone.Row.AppendJSON(nil), together[i].Row.AppendJSON(nil))
		}
		if got := notNull(t, alone.Row, r.want); r.want != "" && got != r.want {
			t.Errorf("row %d:\n got %s\nwant %s", i+1, got, r.want)
		}
		if !json.Valid(alone.Row.AppendJSON(nil)) {
			t.Errorf("row %d is no JSON: %s", i+1, alone.Row.AppendJSON(nil))
		}
	}
	for i, n := range map[int]int{16: 1 + 1000, 37: 50000} {
		if _, text, _ := together[i].Row.Lookup([]byte("t")); len([]rune(string(text))) < n-1 {
			t.Errorf("row %d: %d characters", i+1, len([]rune(string(text))))
		}
	}
}

// notNull is the columns of a row that want names, as JSON.
func notNull(t *testing.T, r row.Row, want string) string {
	t.Helper()
	var fields []row.Field
	var names []string
	for f := range r.Columns() {
		if strings.Contains(want, `"`+f.Name+`":`) && f.Name != "id" && f.Kind != row.Null {
			fields, names = append(fields, f), append(names, f.Name)
		}
	}
	picked, ok := row.Encode(&row.Schema{Columns: names}, fields)
	if !ok {
		t.Fatalf("%v", fields)
	}
	return string(picked.AppendJSON(nil))
}

// A column is a key, or is refused with what to do instead. A key that is
// accepted finds its row, by one spelling.
func TestRealKeysOfEveryType(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		p := stacktest.Postgres(t, v)
		d := newDatabase(t, p.URL("", ""), typesSchema)
		rows, err := d.client.Query(t.Context(), `SELECT attname FROM pg_attribute WHERE attrelid = 'types'::regclass AND attnum > 1`)
		if err != nil {
			t.Fatal(err)
		}
		var columns []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			columns = append(columns, name)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		accepted := map[string]string{
			"i2": "-32768", "i4": "-2147483648", "i8": "-9223372036854775808", "t": "", "vc": " v ", "by": "\x00\xff\x10",
			"u": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "dp": "7", "ds": "abc",
		}
		for _, name := range columns {
			d.exec(`DROP TABLE IF EXISTS one; CREATE TABLE one (LIKE types INCLUDING GENERATED, pk serial PRIMARY KEY)`)
			d.exec(`ALTER TABLE one REPLICA IDENTITY FULL, ALTER "` + name + `" SET NOT NULL, ALTER id DROP NOT NULL`)
			_, err := d.client.Exec(t.Context(), `CREATE UNIQUE INDEX ON one ("`+name+`")`)
			spec := row.Spec{Name: "one", Table: "one", Key: []string{name}, Column: "pk"}
			s, catalog, openErr := postgres.Open(t.Context(), postgres.Options{URL: d.url}, []row.Spec{spec})
			want, ok := accepted[name]
			if !ok {
				if openErr == nil || err == nil && !strings.Contains(openErr.Error(), "map") {
					t.Errorf("column %s: index %v, got %v", name, err, openErr)
				}
				if openErr == nil {
					s.Close()
				}
				continue
			}
			if openErr != nil {
				t.Errorf("column %s: %v", name, openErr)
				continue
			}
			for _, r := range typesRows { // those that have a value there
				_, _ = d.client.Exec(t.Context(), "INSERT INTO one "+r.values)
			}
			key := "one:" + string(row.AppendPart(nil, []byte(want)))
			if got := load(t, s, catalog, key, "one:"+unlikely(name), key); !got[0].Row.Exists() || got[1].Row.Exists() || !got[2].Row.Exists() {
				t.Errorf("column %s: key %q gives %v", name, key, got)
			}
			s.Close()
		}
	})
}

// unlikely is a key that no row has, and that may be beyond the column's
// range.
func unlikely(column string) string {
	switch column {
	case "i2", "i4", "i8", "dp":
		return "9223372036854775806"
	case "u":
		return "00000000-0000-0000-0000-000000000000"
	}
	return "a text that is longer than the column"
}

// load reads keys, none of which may fail.
func load(t *testing.T, s *postgres.Source, catalog *proxy.Catalog, keys ...string) []proxy.Result {
	t.Helper()
	results := tryLoad(t, s, catalog, keys...)
	for i, r := range results {
		if r.Err != nil {
			t.Fatalf("load %s: %v", keys[i], r.Err)
		}
	}
	return results
}
