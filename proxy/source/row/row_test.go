package row

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func schema(names ...string) *Schema { return &Schema{Columns: names} }

func text(name, value string) Field { return Field{Name: name, Kind: Text, Value: []byte(value)} }

func TestEncode(t *testing.T) {
	s := schema("a", "b", "c")
	fields := []Field{text("a", ""), {Name: "b", Kind: Null, Value: []byte("ignored")}, {Name: "c", Kind: Bytes, Value: bytes.Repeat([]byte{0}, 300)}}
	r, ok := Encode(s, fields)
	if !ok || !r.Exists() {
		t.Fatal("a complete row is refused")
	}
	if k, v := r.Column(2); k != Bytes || len(v) != 300 {
		t.Errorf("column 2: kind %d, %d bytes", k, len(v))
	}
	if k, v, ok := r.Lookup([]byte("a")); !ok || k != Text || len(v) != 0 {
		t.Errorf("column a: %v, kind %d, %q", ok, k, v)
	}
	if k, v, ok := r.Lookup([]byte("b")); !ok || k != Null || v != nil {
		t.Errorf("column b: %v, kind %d, %q", ok, k, v)
	}
	if _, _, ok := r.Lookup([]byte("d")); ok {
		t.Error("there is a column d")
	}
	for _, bad := range [][]Field{
		nil, fields[:2], {fields[1], fields[0], fields[2]}, {fields[0], fields[1], {Name: "c", Kind: Unknown}}, append(fields[:3:3], text("d", "")),
	} {
		if r, ok := Encode(s, bad); ok || r.Exists() {
			t.Errorf("%v is accepted", bad)
		}
	}
	if _, ok := Encode(nil, nil); ok {
		t.Error("a row without a schema is accepted")
	}
}

func TestEqual(t *testing.T) {
	one, _ := Encode(schema("a", "b"), []Field{text("a", "1"), text("b", "2")})
	for _, test := range []struct {
		name  string
		other Row
		want  bool
	}{
		{"no row", Row{}, false},
		{"the same under another schema", must(schema("a", "b"), text("a", "1"), text("b", "2")), true},
		{"other names", must(schema("a", "c"), text("a", "1"), text("c", "2")), false},
		{"another value", must(schema("a", "b"), text("a", "1"), text("b", "3")), false},
		{"another kind", must(schema("a", "b"), text("a", "1"), Field{Name: "b", Kind: Number, Value: []byte("2")}), false},
		{"fewer columns", must(schema("a"), text("a", "1")), false},
	} {
		if one.Equal(test.other) != test.want || test.other.Equal(one) != test.want {
			t.Errorf("%s: want %v", test.name, test.want)
		}
	}
	if !(Row{}).Equal(Row{}) {
		t.Error("no row does not equal no row")
	}
}

func must(s *Schema, fields ...Field) Row {
	r, ok := Encode(s, fields)
	if !ok {
		panic("not a row")
	}
	return r
}

func TestJSON(t *testing.T) {
	r := must(schema("t", "n", "b", "x", "j", "z", `"k`),
		text("t", "a\"\\\n\x00é\xff\u2028"), Field{Name: "n", Kind: Number, Value: []byte("1.50")},
		Field{Name: "b", Kind: Bool, Value: []byte("true")}, Field{Name: "x", Kind: Bytes, Value: []byte{0, 255}},
		Field{Name: "j", Kind: JSON, Value: []byte(`{"a":[1]}`)}, Field{Name: "z", Kind: Null}, text(`"k`, ""))
	want := `{"t":"a\"\\\u000a\u0000é` + "\uFFFD\u2028" + `","n":1.50,"b":true,"x":"AP8=","j":{"a":[1]},"z":null,"\"k":""}`
	if got := string(r.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string((Row{}).AppendJSON([]byte("x"))); got != "x{}" {
		t.Errorf("no row: %s", got)
	}
}

// FuzzRow: what is encoded is read back, and its JSON is JSON.
func FuzzRow(f *testing.F) {
	f.Add("a", []byte("text"), "b", []byte{0xff}, byte(1))
	f.Add("", []byte{}, "\xff", []byte("1e5"), byte(0))
	f.Add("a", []byte("\x7f\x1f"), "c", []byte("x"), byte(4))
	f.Fuzz(func(t *testing.T, nameA string, a []byte, nameB string, b []byte, kind byte) {
		kinds := [...]Kind{Null, Text, Bytes}
		fields := []Field{{Name: nameA, Kind: Text, Value: a}, {Name: nameB, Kind: kinds[int(kind)%len(kinds)], Value: b}}
		r, ok := Encode(schema(nameA, nameB), fields)
		if !ok {
			t.Fatal("refused")
		}
		i := 0
		for c := range r.Columns() {
			if c.Name != fields[i].Name || c.Kind != fields[i].Kind || c.Kind != Null && !bytes.Equal(c.Value, fields[i].Value) {
				t.Errorf("column %d: %+v, want %+v", i, c, fields[i])
			}
			i++
		}
		text := r.AppendJSON(nil)
		if !json.Valid(text) || !utf8.Valid(text) {
			t.Errorf("not JSON: %q", text)
		}
	})
}
