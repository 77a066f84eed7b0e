package sourcetest

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// The use cases a fixture serves.
const (
	Items  = "items"  // table items: id integer primary key, name text unique and not null, n integer; the whole row
	ByName = "byname" // the same table by name; the whole row
	Pairs  = "pairs"  // table pairs: a text, b integer, primary key (b, a), v text; the key is (a, b)
	Blobs  = "blobs"  // table blobs: k text primary key, v bytes; column v
	Frozen = "frozen" // blobs again, read-only
)

// Fixture is a source over a database of its own with empty tables.
type Fixture struct {
	Source  proxy.Source
	Catalog *proxy.Catalog
	// Exec changes the database as another client does, around the source.
	Exec func(statement string)
	// Followed reports whether the database logs its changes, so that
	// positions are known.
	Followed bool
}

// Run tests a source. Each test gets a fixture of its own.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	for _, test := range []struct {
		name string
		run  func(*harness)
	}{
		{"order and duplicates", orderAndDuplicates},
		{"absent rows", absentRows},
		{"many keys", manyKeys},
		{"composite keys", compositeKeys},
		{"key spellings", keySpellings},
		{"values", values},
		{"positions", positions},
		{"one snapshot per call", oneSnapshot},
		{"put and delete", putAndDelete},
		{"put of one column", partialPut},
		{"conditions", conditions},
		{"put of nothing", putOfNothing},
		{"one winner", oneWinner},
		{"old rows", oldRows},
		{"swaps", swaps},
		{"joined writes", joinedWrites},
		{"joined writes are seen together", joinedAreSeenTogether},
		{"scan", scans},
		{"scan while rows change", scanWhileRowsChange},
		{"read-only", readOnly},
		{"one failing write undoes no other", failingWrite},
		{"end of the context", contextEnd},
		{"concurrent use", concurrentUse},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(&harness{T: t, Fixture: open(t)})
		})
	}
}

type harness struct {
	*testing.T
	Fixture
}

func (h *harness) key(text string) proxy.Key {
	h.Helper()
	k, err := h.Catalog.Key([]byte(text))
	if err != nil {
		h.Fatalf("key %q: %v", text, err)
	}
	return k
}

func (h *harness) load(keys ...string) []proxy.Result {
	h.Helper()
	reqs := make([]proxy.Request, len(keys))
	for i, k := range keys {
		reqs[i].Key = h.key(k)
	}
	results := make([]proxy.Result, len(keys))
	h.Source.Load(context.Background(), reqs, results)
	for i := range results {
		if results[i].Err != nil {
			h.Fatalf("load %q: %v", keys[i], results[i].Err)
		}
	}
	return results
}

func (h *harness) apply(writes ...proxy.Write) []proxy.Written {
	results := make([]proxy.Written, len(writes))
	h.Source.Apply(context.Background(), writes, results)
	return results
}

func (h *harness) put(key string, column, value string) proxy.Write {
	return proxy.Write{Key: h.key(key), Op: proxy.Put, Fields: []row.Field{{Name: column, Kind: row.Text, Value: []byte(value)}}}
}

// column returns a column's text, or "-" if there is no such row.
func (h *harness) column(r proxy.Result, name string) string {
	h.Helper()
	if !r.Row.Exists() {
		return "-"
	}
	_, v, ok := r.Row.Lookup([]byte(name))
	if !ok {
		h.Fatalf("the row has no column %q", name)
	}
	return string(v)
}

func (h *harness) want(what string, got, want any) {
	h.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		h.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func (h *harness) json(r proxy.Result) string {
	return string(bytes.TrimSpace(r.Row.AppendJSON(nil)))
}
