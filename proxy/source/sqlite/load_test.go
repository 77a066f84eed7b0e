package sqlite_test

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
	source "github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// load returns each key's row as JSON, or its error.
func load(t *testing.T, s *source.Source, catalog *proxy.Catalog, keys ...string) []string {
	t.Helper()
	reqs, results := make([]proxy.Request, len(keys)), make([]proxy.Result, len(keys))
	for i, text := range keys {
		key, err := catalog.Key([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		reqs[i].Key = key
	}
	s.Load(t.Context(), reqs, results)
	out := make([]string, len(keys))
	for i, r := range results {
		switch {
		case r.Err != nil:
			out[i] = r.Err.Error()
		case r.Row.Exists():
			out[i] = string(r.Row.AppendJSON(nil))
		}
	}
	return out
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("key %d:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

func TestField(t *testing.T) {
	for _, test := range []struct {
		value any
		kind  row.Kind
		text  string
	}{
		{nil, row.Null, ""},
		{int64(-5), row.Number, "-5"},
		{2.0, row.Number, "2.0"},
		{0.1, row.Number, "0.1"},
		{1e300, row.Number, "1e+300"},
		{1e21, row.Number, "1e+21"},
		{123456789.0, row.Number, "1.23456789e+08"},
		{math.Copysign(0, -1), row.Number, "-0.0"},
		{math.Inf(1), row.Text, "Inf"},
		{math.Inf(-1), row.Text, "-Inf"},
		{"a\x00b", row.Text, "a\x00b"},
		{[]byte{}, row.Bytes, ""},
		{[]byte{0, 255}, row.Bytes, "\x00\xff"},
	} {
		f := source.Field("c", test.value)
		if f.Kind != test.kind || string(f.Value) != test.text {
			t.Errorf("%v: kind %d, %q; want kind %d, %q", test.value, f.Kind, f.Value, test.kind, test.text)
		}
	}
}

// Types whose names make the driver turn values into dates and booleans are
// read as they are stored.
func TestValuesAsStored(t *testing.T) {
	spec := row.Spec{Name: "v", Table: "v"}
	path, client := newFile(t, `CREATE TABLE v (id INTEGER PRIMARY KEY, d DATETIME, b BOOLEAN, r REAL, n DECIMAL, t TEXT, x BLOB, g REAL AS (r * 2))`)
	install(t, path, spec)
	s, catalog := open(t, path, spec)
	exec(t, client, `INSERT INTO v VALUES (1, '2025-01-02 03:04:05', 1, 2, '1.50', 7, x'00ff')`)
	exec(t, client, `INSERT INTO v VALUES (2, 1700000000, 'yes', 9e999, 'x', '', x'')`)
	exec(t, client, `INSERT INTO v VALUES (3, NULL, NULL, NULL, NULL, x'61', 'text')`)
	want(t, load(t, s, catalog, "v:1", "v:2", "v:3"),
		`{"id":1,"d":"2025-01-02 03:04:05","b":1,"r":2.0,"n":1.5,"t":"7","x":"AP8=","g":4.0}`,
		`{"id":2,"d":1700000000,"b":"yes","r":"Inf","n":"x","t":"","x":"","g":"Inf"}`,
		`{"id":3,"d":null,"b":null,"r":null,"n":null,"t":"YQ==","x":"text","g":null}`)
}

// A row is found by its own key's spelling and by nothing else.
func TestOneRowOneKey(t *testing.T) {
	specs := []row.Spec{{Name: "i", Table: "ints"}, {Name: "t", Table: "texts"}, {Name: "b", Table: "blobs"}}
	path, client := newFile(t, `CREATE TABLE ints (k INT PRIMARY KEY, v); CREATE TABLE texts (k TEXT PRIMARY KEY, v); CREATE TABLE blobs (k BLOB PRIMARY KEY, v)`)
	install(t, path, specs...)
	s, catalog := open(t, path, specs...)
	exec(t, client, `INSERT INTO ints VALUES (' 12 ', 'converted'), ('abc', 'text'), (1.5, 'real'), (x'31', 'blob'), (-9223372036854775808.0, 'least'), (9e18, 'most')`)
	exec(t, client, `INSERT INTO texts VALUES (12, 'converted'), (x'61', 'blob'), ('b' || char(0), 'nul'), ('b', 'none')`)
	exec(t, client, `INSERT INTO blobs VALUES (x'61', 'blob'), ('a', 'text'), (5, 'integer'), (x'', 'empty')`)
	got := func(keys ...string) (all string) {
		for _, one := range load(t, s, catalog, keys...) {
			_, v, _ := strings.Cut(one, `"v":`)
			all += strings.Trim(v, `"}`) + " "
		}
		return all
	}
	for _, test := range [][2]string{
		{got("i:12", "i:1", "i:2", "i:-9223372036854775808", "i:9000000000000000000"), "converted    most "},
		{got("t:12", "t:a", "t:b\x00", "t:b", "t:B"), "converted  nul none  "},
		{got("b:a", "b:5", "b:", "b:A"), "blob  empty  "},
	} {
		if test[0] != test[1] {
			t.Errorf("got %q, want %q", test[0], test[1])
		}
	}
	// The same one at a time.
	want(t, load(t, s, catalog, "t:a"), "")
	want(t, load(t, s, catalog, "i:-9223372036854775808"), "")
}

func TestSchemaChanges(t *testing.T) {
	path, client := newFile(t, suiteSchema)
	specs := suiteSpecs()
	install(t, path, specs...)
	s, catalog := open(t, path, specs...)
	exec(t, client, `INSERT INTO items VALUES (1, 'one', 10); INSERT INTO blobs VALUES ('a', 'x')`)
	want(t, load(t, s, catalog, "items:1"), `{"id":1,"name":"one","n":10}`)

	exec(t, client, `ALTER TABLE items ADD COLUMN more DEFAULT 'new'`)
	want(t, load(t, s, catalog, "items:1", "byname:one"), `{"id":1,"name":"one","n":10,"more":"new"}`, `{"id":1,"name":"one","n":10,"more":"new"}`)

	// The change stream says so later: the schema is learned again.
	m := catalog.Named("items").Mapping
	m.Forget()
	want(t, load(t, s, catalog, "items:1"), `{"id":1,"name":"one","n":10,"more":"new"}`)
	if m.Schema() == nil || len(m.Schema().Columns) != 4 {
		t.Errorf("schema %v", m.Schema())
	}

	exec(t, client, `DROP TABLE items`)
	got := load(t, s, catalog, "items:1", "blobs:a")
	if !strings.Contains(got[0], `no table "items"`) || got[1] != `{"v":"x"}` {
		t.Errorf("got %q", got)
	}
	m.Forget()
	results := make([]proxy.Written, 1)
	key, _ := catalog.Key([]byte("items:1"))
	write := []proxy.Write{{Key: key, Op: proxy.Put, Fields: field("n", "1")}}
	s.Apply(t.Context(), write, results)
	if !errors.Is(results[0].Err, proxy.ErrUnavailable) {
		t.Errorf("write to a table that is gone: %v", results[0].Err)
	}

	exec(t, client, `CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'd', n INTEGER)`)
	got = load(t, s, catalog, "items:1", "byname:one")
	if got[0] != "" || !strings.Contains(got[1], "unique") {
		t.Errorf("got %q", got)
	}
	s.Apply(t.Context(), write, results)
	if results[0].Err != nil {
		t.Error(results[0].Err)
	}
	want(t, load(t, s, catalog, "items:1"), `{"id":1,"name":"d","n":1}`)

	exec(t, client, `DROP TABLE items; CREATE TABLE items (id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE)`)
	if got := load(t, s, catalog, "items:1")[0]; !strings.Contains(got, "other types") {
		t.Errorf("got %q", got)
	}
}

func TestNotInstalled(t *testing.T) {
	path, _ := newFile(t, suiteSchema)
	s, catalog := open(t, path, suiteSpecs()...)
	if got := load(t, s, catalog, "items:1")[0]; !strings.Contains(got, "start its relay once") {
		t.Errorf("got %q", got)
	}
	if _, _, err := s.Probe(t.Context()); !errors.Is(err, proxy.ErrUnavailable) || !errors.Is(err, source.ErrNotInstalled) {
		t.Errorf("probe: %v", err)
	}
	install(t, path, suiteSpecs()...)
	want(t, load(t, s, catalog, "items:1"), "")
}

func TestProbe(t *testing.T) {
	path, _ := newFile(t, suiteSchema)
	install(t, path, suiteSpecs()...)
	s, _ := open(t, path, suiteSpecs()...)
	before := proxy.Time(time.Now().UnixNano())
	id, at, err := s.Probe(t.Context())
	after := proxy.Time(time.Now().UnixNano())
	if err != nil || !id.Known() || at < before || at > after {
		t.Errorf("%+v at %v (%v to %v), %v", id, at, before, after, err)
	}
}

func TestFileReplaced(t *testing.T) {
	path, client := newFile(t, suiteSchema)
	install(t, path, suiteSpecs()...)
	s, catalog := open(t, path, suiteSpecs()...)
	exec(t, client, `INSERT INTO items VALUES (1, 'old', 1)`)
	exec(t, client, `VACUUM INTO '`+path+`.new'`)
	exec(t, client, `UPDATE items SET name = 'newer'`)
	want(t, load(t, s, catalog, "items:1"), `{"id":1,"name":"newer","n":1}`)
	client.Close()
	os.Remove(path + "-wal")
	os.Remove(path + "-shm")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	want(t, load(t, s, catalog, "items:1"), `{"id":1,"name":"old","n":1}`)
	results := make([]proxy.Written, 1)
	key, _ := catalog.Key([]byte("items:1"))
	s.Apply(t.Context(), []proxy.Write{{Key: key, Op: proxy.Put, Fields: field("n", "5")}}, results)
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	want(t, load(t, s, catalog, "items:1"), `{"id":1,"name":"old","n":5}`)

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	loaded := make([]proxy.Result, 1)
	s.Load(context.Background(), []proxy.Request{{Key: key}}, loaded)
	if !errors.Is(loaded[0].Err, proxy.ErrUnavailable) || !errors.Is(loaded[0].Err, os.ErrNotExist) {
		t.Errorf("file removed: %v", loaded[0].Err)
	}
}

// What nobody follows may be served for a while, but never longer because a
// checkpoint came.
func TestPinned(t *testing.T) {
	path, client := newFile(t, suiteSchema)
	install(t, path, suiteSpecs()[0]) // not by name, and no other table
	s, catalog := open(t, path, suiteSpecs()...)
	pinned := func(text string) bool {
		t.Helper()
		key, err := catalog.Key([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		results := make([]proxy.Result, 1)
		s.Load(t.Context(), []proxy.Request{{Key: key}}, results)
		if results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		return results[0].Pinned
	}
	if pinned("items:1") || !pinned("byname:a") || !pinned("blobs:a") {
		t.Errorf("items %v, byname %v, blobs %v", pinned("items:1"), pinned("byname:a"), pinned("blobs:a"))
	}
	install(t, path, suiteSpecs()...)
	if pinned("items:1") || pinned("byname:a") || pinned("blobs:a") {
		t.Error("pinned though it is followed")
	}
	exec(t, client, `DROP TRIGGER freshet_cdc_items_bu`)
	if !pinned("items:1") || pinned("blobs:a") {
		t.Error("not pinned though a trigger is missing")
	}
}
