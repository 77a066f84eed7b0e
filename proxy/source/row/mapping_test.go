package row

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func mapping(kinds ...KeyKind) *Mapping {
	m := &Mapping{Spec: Spec{Name: "u", Table: "t"}}
	for i, k := range kinds {
		m.Columns = append(m.Columns, KeyColumn{Name: fmt.Sprintf("k%d", i), Kind: k})
	}
	return m
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		m    *Mapping
		key  string
		want string // in the error; empty: accepted
	}{
		{mapping(KeyInt), "u:0", ""},
		{mapping(KeyInt), "u:-1", ""},
		{mapping(KeyInt), "u:9223372036854775807", ""},
		{mapping(KeyInt), "u:-9223372036854775808", ""},
		{mapping(KeyInt), "u:9223372036854775808", "64 bits"},
		{mapping(KeyInt), "u:-9223372036854775809", "64 bits"},
		{mapping(KeyInt), "u:10000000000000000000", "64 bits"},
		{mapping(KeyInt), "u:", "not an integer"},
		{mapping(KeyInt), "u:-", "not an integer"},
		{mapping(KeyInt), "u:-0", "not an integer"},
		{mapping(KeyInt), "u:00", "not an integer"},
		{mapping(KeyInt), "u:+1", "not an integer"},
		{mapping(KeyInt), "u:1 ", "not an integer"},
		{mapping(KeyInt), "u:%31", "not an integer"},
		{mapping(KeyInt), "u:1:2", "u:<k0>"},
		{mapping(KeyText), "u:", ""},
		{mapping(KeyText), "u:a b\x00\xff", ""},
		{mapping(KeyText), "u:%3A%25", ""},
		{mapping(KeyText), "u:%3a", "encoded"},
		{mapping(KeyText), "u:%", "encoded"},
		{mapping(KeyText), "u:%2", "encoded"},
		{mapping(KeyText), "u:a%25%41", "encoded"},
		{mapping(KeyText), "u:a:b", "u:<k0>"},
		{mapping(KeyText, KeyInt), "u:a:1", ""},
		{mapping(KeyText, KeyInt), "u::1", ""},
		{mapping(KeyText, KeyInt), "u:a", "u:<k0>:<k1>"},
		{mapping(KeyText, KeyInt), "u:a:1:", "u:<k0>:<k1>"},
		{mapping(KeyText, KeyInt), "u:1:a", "part 2 (k1)"},
		{mapping(KeyBytes), "u:\x00%3A", ""},
		{mapping(KeyUUID), "u:a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", ""},
		{mapping(KeyUUID), "u:A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "lower case"},
		{mapping(KeyUUID), "u:a0eebc999c0b4ef8bb6d6bb9bd380a11", "not a UUID"},
		{mapping(KeyUUID), "u:{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}", "not a UUID"},
		{mapping(KeyUUID), "u:a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", "not a UUID"},
		{mapping(KeyUUID), "u:a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g", "not a UUID"},
		{mapping(KeyUUID), "u:a0eebc99a9c0b-4ef8-bb6d-6bb9bd380a11", "not a UUID"},
	} {
		err := test.m.Check([]byte(test.key))
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%q: %v", test.key, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%q: got %v, want %q", test.key, err, test.want)
		}
	}
}

func TestKey(t *testing.T) {
	m := mapping(KeyText, KeyInt)
	number := Field{Name: "k1", Kind: Number, Value: []byte("-5")}
	for _, test := range []struct {
		fields []Field
		want   string
	}{
		{[]Field{number, text("other", "x"), text("k0", "a:%b")}, "u:a%3A%25b:-5"},
		{[]Field{text("k0", ""), number}, "u::-5"},
		{[]Field{text("k0", "a")}, ""},
		{[]Field{{Name: "k0", Kind: Null}, number}, ""},
		{[]Field{{Name: "k0", Kind: Unknown}, number}, ""},
		{[]Field{text("k0", "a"), {Name: "k1", Kind: Number, Value: []byte("1.5")}}, ""},
		{[]Field{{Name: "k0", Kind: Bytes, Value: []byte("a")}, number}, ""},
		{[]Field{text("k0", "a"), {Name: "k1", Kind: Bytes, Value: []byte("5")}}, ""},
		{nil, ""},
	} {
		key, ok := m.Key(test.fields)
		if ok != (test.want != "") || string(key) != test.want {
			t.Errorf("%v: got %q, want %q", test.fields, key, test.want)
		}
	}
}

func TestKeyOfBytes(t *testing.T) {
	m := mapping(KeyBytes)
	for kind, want := range map[Kind]bool{Bytes: true, Text: false, Number: false, Null: false, Unknown: false} {
		if _, ok := m.Key([]Field{{Name: "k0", Kind: kind, Value: []byte("5")}}); ok != want {
			t.Errorf("kind %d: %v", kind, ok)
		}
	}
}

func TestMappingRow(t *testing.T) {
	m := mapping(KeyInt)
	fields := []Field{text("a", "1"), text("b", "2"), text("c", "3")}
	if _, ok := m.Row(fields); ok {
		t.Error("a row without a known schema")
	}
	m.Learn(m.Generation(), schema("c", "a"))
	r, ok := m.Row(fields)
	if want := must(schema("c", "a"), fields[2], fields[0]); !ok || !r.Equal(want) {
		t.Errorf("got %s", r.AppendJSON(nil))
	}
	m.Learn(m.Generation(), schema("a", "b", "c"))
	if r, ok := m.Row(fields); !ok || !r.Equal(must(schema("a", "b", "c"), fields...)) {
		t.Errorf("got %s", r.AppendJSON(nil))
	}
	if _, ok := m.Row(fields[:2]); ok {
		t.Error("an incomplete row")
	}
	fields[1].Kind = Unknown
	if _, ok := m.Row(fields); ok {
		t.Error("a row with an unknown value")
	}
}

// What a catalog read found is not published if the schema was forgotten
// after that read began.
func TestForget(t *testing.T) {
	m := mapping(KeyInt)
	before := m.Generation()
	m.Forget()
	m.Learn(before, schema("old"))
	if m.Schema() != nil {
		t.Error("an old schema is published")
	}
	m.Learn(m.Generation(), schema("new"))
	if s := m.Schema(); s == nil || s.Columns[0] != "new" {
		t.Errorf("schema %v", s)
	}
	m.Forget()
	if m.Schema() != nil {
		t.Error("a forgotten schema is still there")
	}
}

// FuzzKey: an accepted key is the only spelling of its parts, and the key of
// the row that has them.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"a:1", "%3A:-5", "%25%3A:0", ":9223372036854775807", "a%3a:1", "a:01", "a:1:2", "\x00\xff:7", "%:1"} {
		f.Add([]byte(seed))
	}
	m := mapping(KeyText, KeyInt)
	f.Fuzz(func(t *testing.T, rest []byte) {
		key := append([]byte("u:"), rest...)
		if m.Check(key) != nil {
			return
		}
		parts, err := m.Parts(key)
		if err != nil || len(parts) != 2 {
			t.Fatalf("%q: %q, %v", key, parts, err)
		}
		again, ok := m.Key([]Field{{Name: "k0", Kind: Text, Value: parts[0]}, {Name: "k1", Kind: Number, Value: parts[1]}})
		if !ok || !bytes.Equal(again, key) {
			t.Errorf("%q is the key of what %q names", again, key)
		}
	})
}

// FuzzPart: every value has a spelling that is accepted and means it.
func FuzzPart(f *testing.F) {
	for _, seed := range []string{"", "a:b", "%3A", "%", "::%%", "\xff\x00"} {
		f.Add([]byte(seed))
	}
	m := mapping(KeyText)
	f.Fuzz(func(t *testing.T, value []byte) {
		key := AppendPart([]byte("u:"), value)
		if err := m.Check(key); err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		if parts, err := m.Parts(key); err != nil || !bytes.Equal(parts[0], value) {
			t.Errorf("%q means %q, %v", key, parts, err)
		}
	})
}
