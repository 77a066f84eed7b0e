package debezium

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// FuzzDecode: whatever a record holds, it is a change of a mapped table, a
// checkpoint, nothing, or an error that says why and what to do. What is
// accepted is JSON, and what is told of a key column is a value that the column
// may have.
func FuzzDecode(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		for i, fixture := range fixturesOf(f, path) {
			if i%5 == 0 {
				f.Add(fixture.Topic, fixture.key(), fixture.value())
			}
		}
	}
	f.Add("t", []byte(`{"id":3}`), []byte(`{"op":"u","after":{"id":3,"seq":8,"t":17,"system":-5,"timeline":2,"started":99,"slot":"s"},"source":{"connector":"postgresql","schema":"public","table":"freshet_checkpoint","txId":9}}`))
	f.Add("t", []byte("\x00\x01"), []byte("\x00\x00\x00\x00\x01"))
	d := newDecoder(f, "__debezium_unavailable_value")
	f.Fuzz(func(t *testing.T, topic string, key, value []byte) {
		clear(d.topics)
		m, err := d.Decode(topic, key, value)
		var fault *DecodeError
		switch {
		case errors.As(err, &fault):
			if fault.Reason == "" || fault.Mend == "" || m != nil {
				t.Fatalf("%+v", fault)
			}
			return
		case err != nil || m == nil || m.Change != nil && m.Mark != nil:
			t.Fatalf("%+v, %v", m, err)
		case !json.Valid(value):
			t.Fatalf("accepted: %q", value)
		case m.Change == nil:
			return
		}
		if c := m.Change; len(d.options.Catalog.OnTable(c.Table)) == 0 || c.Op == 0 || c.Op > event.SchemaChanged || c.Tx != m.Tx || c.Last {
			t.Fatalf("%+v", c)
		}
		for _, u := range d.options.Catalog.OnTable(m.Change.Table) {
			for _, fields := range [][]row.Field{m.Change.Before, m.Change.After} {
				if !spelledOrUntold(u.Mapping, fields) {
					t.Fatalf("%q: a key column with a value that it cannot have: %+v", value, fields)
				}
			}
		}
	})
}

// spelledOrUntold reports whether a row has a key, or does not tell it: an
// applier takes everything else for a row without an entry. Integers beyond 64
// bits are such rows.
func spelledOrUntold(m *row.Mapping, fields []row.Field) bool {
	if fields == nil {
		return true
	}
	if _, ok := m.Key(fields); ok {
		return true
	}
	for _, f := range fields {
		if f.Kind == row.Unknown || f.Kind == row.Number && len(f.Value) >= 19 {
			return true
		}
	}
	return false
}
