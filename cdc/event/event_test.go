package event

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

var update = flag.Bool("update", false, "write the golden files anew")

var testStream = StreamID{
	Source:     proxy.Identity{System: 0xfeed, Timeline: 2, Started: 1_700_000_000_000_000_000},
	Slot:       "freshet",
	Topic:      7,
	Partitions: 4,
}

func samples() map[string]*Record {
	at := func(commit, seq uint64) proxy.Position { return proxy.Position{Commit: commit, Seq: seq} }
	change := func(c Change) *Record {
		return &Record{Stream: testStream.Hash(), Prev: at(1000, 2), Position: at(1016, 0), Change: &c}
	}
	return map[string]*Record{
		"insert": change(Change{Table: "users", Op: Insert, Tx: 77, Commit: 1_700_000_000_123_456_789, Last: true,
			After: []row.Field{
				{Name: "id", Kind: row.Number, Value: []byte("42")},
				{Name: "name", Kind: row.Text, Value: []byte("Ada")},
				{Name: "photo", Kind: row.Unknown},
				{Name: "note", Kind: row.Null},
				{Name: "empty", Kind: row.Text, Value: []byte{}},
			}}),
		"update": change(Change{Table: "users", Op: Update, Tx: 1<<64 - 1, Commit: -5,
			Before: []row.Field{{Name: "id", Kind: row.Number, Value: []byte("42")}},
			After:  []row.Field{{Name: "id", Kind: row.Number, Value: []byte("43")}, {Name: "ok", Kind: row.Bool, Value: []byte("true")}}}),
		"delete": change(Change{Table: "orders", Op: Delete, Last: true,
			Before: []row.Field{{Name: "id", Kind: row.Bytes, Value: []byte{0, 255}}}}),
		"touch":    change(Change{Table: "orders", Op: Touch, Before: []row.Field{{Name: "id", Kind: row.JSON, Value: []byte("1")}}}),
		"truncate": change(Change{Table: "orders", Op: Truncate, Tx: 9}),
		"schema":   change(Change{Table: "orders", Op: SchemaChanged}),
		"future":   change(Change{Table: "orders", Op: 200}),
		"backward": {Stream: testStream.Hash(), Prev: at(5000, 1), Position: at(3, 1<<40), Change: &Change{Table: "t", Op: Truncate}},
		"checkpoint": {Stream: testStream.Hash(), Position: at(1<<63, 1),
			Checkpoint: &Checkpoint{T: 1_700_000_000_200_000_000, Stream: testStream, Nonce: 0xabc}},
	}
}

// A state is an extension, so version 2 alone has it.
func TestState(t *testing.T) {
	r := samples()["checkpoint"]
	plain := Append(nil, r)
	r.Checkpoint.State = []byte("catalog")
	b := Append(nil, r)
	if want := append(plain[:len(plain)-1], "\x01\x01\x07catalog"...); !bytes.Equal(b, want) {
		t.Errorf("written as % x, want % x", b, want)
	}
	got, err := Decode(b)
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("got %+v, %v", got.Checkpoint, err)
	}
	for i := range len("\x01\x01\x07catalog") {
		if got, err := Decode(b[:len(b)-1-i]); err == nil {
			t.Errorf("cut short by %d: %+v", i+1, got.Checkpoint)
		}
	}
	// The next record has none of it.
	var d Decoder
	for _, in := range [][]byte{b, Append(nil, samples()["checkpoint"])} {
		if got, err = d.Decode(in); err != nil {
			t.Fatal(err)
		}
	}
	if got.Checkpoint.State != nil {
		t.Errorf("a state from the record before: %q", got.Checkpoint.State)
	}
}

func TestRoundTrip(t *testing.T) {
	var d Decoder
	for name, r := range samples() {
		b := Append([]byte("before"), r)[len("before"):]
		got, err := d.Decode(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(got, r) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, r)
		}
	}
}

// Version 1 is version 2 without the extensions at the end.
func asVersion1(v2 []byte) []byte {
	v1 := bytes.Clone(v2[:len(v2)-1])
	v1[0] = 1
	return v1
}

func TestGolden(t *testing.T) {
	for name, r := range samples() {
		for version, b := range map[string][]byte{"v2": Append(nil, r), "v1": asVersion1(Append(nil, r))} {
			path := filepath.Join("testdata", version, name+".hex")
			if *update {
				if err := os.WriteFile(path, []byte(hex.Dump(b)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			golden := readDump(t, path)
			if !bytes.Equal(golden, b) {
				t.Errorf("%s: the format has changed:\n%s", path, hex.Dump(b))
			}
			got, err := Decode(golden)
			if err != nil || !reflect.DeepEqual(got, r) {
				t.Errorf("%s: got %+v, %v", path, got, err)
			}
		}
	}
}

// readDump undoes hex.Dump.
func readDump(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for line := range strings.Lines(string(text)) {
		digits := strings.ReplaceAll(line[min(8, len(line)):strings.IndexByte(line, '|')], " ", "")
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

func TestExtensionsAreSkipped(t *testing.T) {
	r := samples()["insert"]
	b := Append(nil, r)
	b = append(b[:len(b)-1], 2, 9, 3, 'a', 'b', 'c', 100, 0)
	if got, err := Decode(b); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRefused(t *testing.T) {
	good := Append(nil, samples()["insert"])
	check := Append(nil, samples()["checkpoint"])
	with := func(b []byte, i int, v byte) []byte { b = bytes.Clone(b); b[i] = v; return b }
	op := 3 + len("users") + 8 + 2 + 1 + 1 + 1 // after the head, with 2-byte commit and 1-byte rest
	cases := []struct {
		name  string
		in    []byte
		table string
	}{
		{"nothing", nil, ""},
		{"one byte", []byte{2}, ""},
		{"table longer than the record", []byte{2, 1, 200, 'a'}, ""},
		{"length beyond 64 bits", append([]byte{2, 1}, bytes.Repeat([]byte{255}, 12)...), ""},
		{"length not in its shortest form", append([]byte{2, 1, 0x85, 0}, good[3:]...), ""},
		{"version to come", with(good, 0, 3), "users"},
		{"version gone", with(good, 0, 0), "users"},
		{"kind to come", with(good, 1, 3), "users"},
		{"operation zero", with(good, op, 0), "users"},
		{"flag to come", with(good, op+1, 3), "users"},
		{"bytes after the end", append(bytes.Clone(good), 0), "users"},
		{"version 1 with extensions", with(good, 0, 1), "users"},
		{"more extensions than bytes", append(bytes.Clone(good[:len(good)-1]), 60), "users"},
		{"change of no table", Append(nil, &Record{Change: &Change{Op: Truncate}}), ""},
		{"checkpoint of another stream", with(check, 4, check[4]+1), ""},
		{"no partitions", Append(nil, &Record{Stream: StreamID{}.Hash(), Checkpoint: &Checkpoint{}}), ""},
		{"kind of a column", Append(nil, &Record{Change: &Change{Table: "t", Op: Insert, After: []row.Field{{Name: "a", Kind: 9}}}}), "t"},
	}
	for i := range len(good) {
		table := ""
		if i >= 3+len("users") {
			table = "users"
		}
		cases = append(cases, struct {
			name  string
			in    []byte
			table string
		}{"cut short", good[:i], table})
	}
	for _, c := range cases {
		r, err := Decode(c.in)
		var de *DecodeError
		if !errors.As(err, &de) {
			t.Errorf("%s (%d bytes): got %+v, %v", c.name, len(c.in), r, err)
		} else if de.Table != c.table {
			t.Errorf("%s (%d bytes): table %q, want %q", c.name, len(c.in), de.Table, c.table)
		}
	}
}

func TestHashTellsStreamsApart(t *testing.T) {
	seen := map[uint64]StreamID{}
	add := func(change func(*StreamID)) {
		s := testStream
		change(&s)
		if other, ok := seen[s.Hash()]; ok {
			t.Errorf("%+v and %+v have one hash", s, other)
		}
		seen[s.Hash()] = s
	}
	add(func(s *StreamID) {})
	add(func(s *StreamID) { s.Source.System++ })
	add(func(s *StreamID) { s.Source.Timeline++ })
	add(func(s *StreamID) { s.Source.Started++ })
	add(func(s *StreamID) { s.Slot += "2" })
	add(func(s *StreamID) { s.Topic++ })
	add(func(s *StreamID) { s.Partitions++ })
	if got := testStream.Hash(); got != 0xec1ecbebd3f4acd8 {
		t.Errorf("the hash has changed: %#x", got)
	}
}

// A running stream is decoded without allocations.
func TestDecoderReusesItsMemory(t *testing.T) {
	b, c := Append(nil, samples()["update"]), Append(nil, samples()["insert"])
	var d Decoder
	decode := func() {
		for _, in := range [][]byte{b, c} {
			if _, err := d.Decode(in); err != nil {
				t.Fatal(err)
			}
		}
	}
	decode()
	if n := testing.AllocsPerRun(100, decode); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestDecoderRemembersBoundedNames(t *testing.T) {
	var d Decoder
	for i := range 2 * maxNames {
		d.name([]byte{byte(i), byte(i >> 8), 'x'})
	}
	d.name(bytes.Repeat([]byte{'y'}, maxNameBytes+1))
	if len(d.names) > maxNames {
		t.Errorf("%d names are remembered", len(d.names))
	}
}

func FuzzDecode(f *testing.F) {
	for _, r := range samples() {
		f.Add(Append(nil, r))
		f.Add(asVersion1(Append(nil, r)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			var de *DecodeError
			if !errors.As(err, &de) {
				t.Fatalf("%v is no DecodeError", err)
			}
			return
		}
		if (r.Change == nil) == (r.Checkpoint == nil) {
			t.Fatalf("%+v is not exactly one of change and checkpoint", r)
		}
		again := Append(nil, r)
		// What was read has one spelling, but for extensions and version.
		bare := *r
		if r.Checkpoint != nil {
			c := *r.Checkpoint
			c.State, bare.Checkpoint = nil, &c
		}
		if core := Append(nil, &bare); !bytes.HasPrefix(b[1:], core[1:len(core)-1]) {
			t.Fatalf("% x was read, and written as % x", b, again)
		}
		if second, err := Decode(again); err != nil || !reflect.DeepEqual(r, second) {
			t.Fatalf("%+v became %+v, %v", r, second, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	in := Append(nil, samples()["update"])
	var d Decoder
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := d.Decode(in); err != nil {
			b.Fatal(err)
		}
	}
}
