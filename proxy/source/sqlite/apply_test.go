package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
	source "github.com/freshet-cache/freshet/proxy/source/sqlite"
)

func put(t testing.TB, catalog *proxy.Catalog, key, column, value string) proxy.Write {
	t.Helper()
	k, err := catalog.Key([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return proxy.Write{Key: k, Op: proxy.Put, Fields: field(column, value)}
}

func apply(s *source.Source, writes ...proxy.Write) []proxy.Written {
	results := make([]proxy.Written, len(writes))
	s.Apply(context.Background(), writes, results)
	return results
}

func TestWrittenByAffinity(t *testing.T) {
	specs := []row.Spec{{Name: "w", Table: "w"}, {Name: "k", Table: "k", Column: "v"}}
	path, client := newFile(t, `CREATE TABLE w (id INTEGER PRIMARY KEY, t TEXT, b BLOB, i INTEGER, r REAL, n NUMERIC, x, g AS (i));
		CREATE TABLE k (k TEXT COLLATE NOCASE, v TEXT, PRIMARY KEY (k COLLATE BINARY))`)
	install(t, path, specs...)
	s, catalog := open(t, path, specs...)
	for _, test := range []struct{ column, value, stored string }{
		{"t", "12", "text:12"}, {"t", "", "text:"}, {"b", "12", "blob:12"}, {"b", "", "blob:"}, {"i", "-12", "integer:-12"},
		{"i", "012", ""}, {"i", "1.0", ""}, {"i", "x", ""}, {"r", "12", "real:12.0"}, {"r", "NaN", ""}, {"r", "x", ""},
		{"n", "12", "integer:12"}, {"n", "x", "text:x"}, {"x", "12", "blob:12"}, {"g", "1", ""}, {"id", "1", ""},
	} {
		exec(t, client, `DELETE FROM w`)
		err := apply(s, put(t, catalog, "w:1", test.column, test.value))[0].Err
		var rejected *proxy.RejectedError
		if test.stored == "" {
			if !errors.As(err, &rejected) {
				t.Errorf("%s = %q: got %v", test.column, test.value, err)
			}
			continue
		}
		var stored string
		if err := client.QueryRow(`SELECT typeof(` + test.column + `) || ':' || ` + test.column + ` FROM w WHERE id = 1`).Scan(&stored); err != nil || stored != test.stored {
			t.Errorf("%s = %q: stored %q, %v", test.column, test.value, stored, err)
		}
	}
	// The index compares as BINARY though the column does not.
	for i, r := range apply(s, put(t, catalog, "k:a", "v", "small"), put(t, catalog, "k:A", "v", "big"), put(t, catalog, "k:a", "v", "small again")) {
		if r.Err != nil {
			t.Errorf("write %d: %v", i, r.Err)
		}
	}
	want(t, load(t, s, catalog, "k:a", "k:A"), `{"v":"small again"}`, `{"v":"big"}`)
}

// SET of one column needs nothing of the others where the row is there.
func TestWrittenBesideColumnsThatMustBeGiven(t *testing.T) {
	specs := []row.Spec{{Name: "pic", Table: "people", Column: "pic"}}
	path, client := newFile(t, `CREATE TABLE people (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, pic BLOB, CHECK (email <> ''))`)
	install(t, path, specs...)
	s, catalog := open(t, path, specs...)
	exec(t, client, `INSERT INTO people VALUES (1, 'a@x', NULL)`)
	results := apply(s, put(t, catalog, "pic:1", "pic", "smile"), put(t, catalog, "pic:2", "pic", "frown"))
	var rejected *proxy.RejectedError
	if results[0].Err != nil || !errors.As(results[1].Err, &rejected) || rejected.Reason != "NOT NULL constraint failed: people.email" {
		t.Errorf("got %v", results)
	}
	want(t, load(t, s, catalog, "pic:1", "pic:2"), `{"pic":"c21pbGU="}`, "")
	var logged string
	if err := client.QueryRow(`SELECT group_concat(op, '') FROM freshet_outbox WHERE op <> 'S'`).Scan(&logged); err != nil || logged != "IU" {
		t.Errorf("the outbox has %q, %v", logged, err)
	}
}

// A trigger that rolls back takes the whole transaction with it, and yet only
// its own write fails.
func TestTriggerThatRollsBack(t *testing.T) {
	path, _ := newFile(t, suiteSchema+`CREATE TRIGGER no BEFORE INSERT ON blobs WHEN NEW.k = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'not this one'); END;`)
	install(t, path, suiteSpecs()...)
	s, catalog := open(t, path, suiteSpecs()...)
	results := apply(s, put(t, catalog, "blobs:a", "v", "1"), put(t, catalog, "blobs:bad", "v", "1"), put(t, catalog, "blobs:b", "v", "1"))
	var rejected *proxy.RejectedError
	if results[0].Err != nil || results[2].Err != nil || !errors.As(results[1].Err, &rejected) || rejected.Reason != "not this one" {
		t.Errorf("got %v", results)
	}
	want(t, load(t, s, catalog, "blobs:a", "blobs:bad", "blobs:b"), `{"v":"MQ=="}`, "", `{"v":"MQ=="}`)
}

func TestForeignKeys(t *testing.T) {
	specs := []row.Spec{{Name: "child", Table: "child"}}
	path, client := newFile(t, `CREATE TABLE parent (id INTEGER PRIMARY KEY);
		CREATE TABLE child (id INTEGER PRIMARY KEY, p INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)`)
	install(t, path, specs...)
	s, catalog := open(t, path, specs...)
	exec(t, client, `INSERT INTO parent VALUES (1)`)
	results := apply(s, put(t, catalog, "child:1", "p", "1"), put(t, catalog, "child:2", "p", "2"))
	var rejected *proxy.RejectedError
	if results[0].Err != nil || !errors.As(results[1].Err, &rejected) || rejected.Reason != "FOREIGN KEY constraint failed" {
		t.Errorf("got %v", results)
	}
	want(t, load(t, s, catalog, "child:1", "child:2"), `{"id":1,"p":1}`, "")
}

func TestFileLocked(t *testing.T) {
	path, client := newFile(t, suiteSchema)
	install(t, path, suiteSpecs()...)
	s, catalog, err := source.Open(t.Context(), source.Options{Path: path, BusyTimeout: 20 * time.Millisecond}, suiteSpecs())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client.SetMaxOpenConns(1)
	exec(t, client, `BEGIN IMMEDIATE`)
	if err := apply(s, put(t, catalog, "blobs:a", "v", "1"))[0].Err; !errors.Is(err, proxy.ErrUnavailable) || told(err) != "database is locked" {
		t.Errorf("got %v", err)
	}
	want(t, load(t, s, catalog, "blobs:a"), "") // readers do not wait
	exec(t, client, `ROLLBACK`)
	if err := apply(s, put(t, catalog, "blobs:a", "v", "1"))[0].Err; err != nil {
		t.Error(err)
	}
}

// A write that waits behind a lock is withdrawn with its caller.
func TestWithdrawn(t *testing.T) {
	path, client := newFile(t, suiteSchema)
	install(t, path, suiteSpecs()...)
	s, catalog := open(t, path, suiteSpecs()...)
	client.SetMaxOpenConns(1)
	exec(t, client, `BEGIN IMMEDIATE`)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	results := make([]proxy.Written, 1)
	s.Apply(ctx, []proxy.Write{put(t, catalog, "blobs:a", "v", "1")}, results)
	if !errors.Is(results[0].Err, proxy.ErrUnavailable) || !errors.Is(results[0].Err, context.DeadlineExceeded) {
		t.Errorf("got %v", results[0].Err)
	}
	exec(t, client, `ROLLBACK`)
	if err := apply(s, put(t, catalog, "blobs:b", "v", "1"))[0].Err; err != nil {
		t.Error(err)
	}
	want(t, load(t, s, catalog, "blobs:a", "blobs:b"), "", `{"v":"MQ=="}`)
}

// What waits together is committed together.
func TestGroupCommit(t *testing.T) {
	path, client := newFile(t, suiteSchema)
	install(t, path, suiteSpecs()...)
	s, catalog := open(t, path, suiteSpecs()...)
	client.SetMaxOpenConns(1)
	exec(t, client, `BEGIN IMMEDIATE`)
	var wg sync.WaitGroup
	for i := range 50 {
		w := put(t, catalog, fmt.Sprintf("blobs:%d", i), "v", "1")
		wg.Go(func() {
			if err := apply(s, w)[0].Err; err != nil {
				t.Error(err)
			}
		})
	}
	exec(t, client, `ROLLBACK`)
	wg.Wait()
	for i := range 50 {
		want(t, load(t, s, catalog, fmt.Sprintf("blobs:%d", i)), `{"v":"MQ=="}`)
	}
}

// told is the reason that a client is given: without where the file lies.
func told(err error) string {
	var unavailable *proxy.UnavailableError
	if !errors.As(err, &unavailable) {
		return ""
	}
	return unavailable.Reason
}

func TestFull(t *testing.T) {
	path, client := newFile(t, suiteSchema)
	install(t, path, suiteSpecs()...)
	s, catalog := open(t, path, suiteSpecs()...)
	big := strings.Repeat("x", 1<<20)
	if err := apply(s, put(t, catalog, "blobs:a", "v", "before"))[0].Err; err != nil {
		t.Fatal(err)
	}
	if err := s.LimitPages(t.Context()); err != nil { // the writer is idle
		t.Fatal(err)
	}
	results := apply(s, put(t, catalog, "blobs:b", "v", "fits"), put(t, catalog, "blobs:c", "v", big), put(t, catalog, "blobs:a", "v", "after"))
	if results[0].Err != nil || results[2].Err != nil {
		t.Errorf("small writes: %v, %v", results[0].Err, results[2].Err)
	}
	if err := results[1].Err; !errors.Is(err, proxy.ErrUnavailable) || told(err) != "database or disk is full" {
		t.Errorf("large write: %v", err)
	}
	var n int
	if err := client.QueryRow(`SELECT count(*) FROM blobs WHERE v IN (CAST('fits' AS BLOB), CAST('after' AS BLOB))`).Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows, %v", n, err)
	}
}

func TestClosed(t *testing.T) {
	path, _ := newFile(t, suiteSchema)
	install(t, path, suiteSpecs()...)
	s, catalog := open(t, path, suiteSpecs()...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := apply(s, put(t, catalog, "blobs:a", "v", "1"))[0].Err; !errors.Is(err, proxy.ErrUnavailable) {
		t.Errorf("write: got %v", err)
	}
	if got := load(t, s, catalog, "blobs:a")[0]; !strings.Contains(got, "closed") {
		t.Errorf("read: got %s", got)
	}
}
