package row

import (
	"bytes"
	"testing"
)

func TestDecodeUndoesAppendData(t *testing.T) {
	s := schema("a", "b", "c")
	r, ok := Encode(s, []Field{text("a", "x"), {Name: "b", Kind: Null}, {Name: "c", Kind: Bytes, Value: bytes.Repeat([]byte{7}, 300)}})
	if !ok {
		t.Fatal("a complete row is refused")
	}
	data := r.AppendData(nil)
	back, err := Decode(schema("a", "b", "c"), data)
	if err != nil || !back.Equal(r) {
		t.Fatalf("%v, %v", back, err)
	}
	for cut := range data {
		if r, err := Decode(s, data[:cut]); err == nil || r.Exists() {
			t.Errorf("%d of %d bytes are a row", cut, len(data))
		}
	}
	for name, bad := range map[string][]byte{
		"one column too many":       append(data[:len(data):len(data)], 0),
		"an unknown column":         {byte(Unknown), 0, 0, 0},
		"a kind that is none":       {200, 0, 0, 0},
		"a length beyond the end":   {byte(Text), 9, 'x', 0, 0},
		"a length of more than int": {byte(Text), 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0},
		"a length without an end":   bytes.Repeat([]byte{255}, 20),
	} {
		if _, err := Decode(s, bad); err == nil {
			t.Errorf("%s is a row", name)
		}
	}
	if _, err := Decode(nil, nil); err == nil {
		t.Error("there is a row without a schema")
	}
	if r, err := Decode(schema(), nil); err != nil || !r.Exists() {
		t.Errorf("a row without columns: %v, %v", r, err)
	}
}

// Whatever Decode takes can be read, and is written as it came.
func FuzzDecode(f *testing.F) {
	f.Add(uint8(2), []byte{1, 1, 'x', 0})
	f.Add(uint8(1), []byte{2, 0x82, 0, '1', '2'})
	f.Add(uint8(0), []byte{})
	f.Fuzz(func(t *testing.T, columns uint8, data []byte) {
		r, err := Decode(&Schema{Columns: make([]string, columns)}, data)
		if err != nil {
			return
		}
		n := 0
		for range r.Columns() {
			n++
		}
		if n != int(columns) || !bytes.Equal(r.AppendData(nil), data) {
			t.Errorf("%d of %d columns, % x as % x", n, columns, data, r.AppendData(nil))
		}
		r.AppendJSON(nil)
	})
}
