package postgres

import (
	"encoding/json"
	"testing"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

func TestField(t *testing.T) {
	for _, test := range []struct {
		base uint32
		text string
		kind row.Kind
		want string
	}{
		{typeInt2, "-32768", row.Number, "-32768"},
		{typeInt8, "9223372036854775807", row.Number, "9223372036854775807"},
		{typeFloat4, "1e+20", row.Number, "1e+20"},
		{typeFloat8, "-0", row.Number, "-0"},
		{typeFloat8, "1e-05", row.Number, "1e-05"},
		{typeFloat8, "NaN", row.Text, "NaN"},
		{typeFloat8, "-Infinity", row.Text, "-Infinity"},
		{typeNumeric, "0.00", row.Number, "0.00"},
		{typeNumeric, "Infinity", row.Text, "Infinity"},
		{typeBool, "t", row.Bool, "true"},
		{typeBool, "f", row.Bool, "false"},
		{typeBool, "true", row.Unknown, ""},
		{typeBytea, `\x`, row.Bytes, ""},
		{typeBytea, `\x00ff`, row.Bytes, "\x00\xff"},
		{typeBytea, `\000`, row.Unknown, ""},
		{typeBytea, `\x0`, row.Unknown, ""},
		{typeJSONB, `{"a": 1}`, row.JSON, `{"a": 1}`},
		{typeText, "", row.Text, ""},
		{typeUUID, "6f1e4d3c-0000-4000-8000-000000000001", row.Text, "6f1e4d3c-0000-4000-8000-000000000001"},
		{790, "$1.50", row.Text, "$1.50"}, // money
	} {
		c := Column{Name: "c", Type: test.base}
		f := c.Field([]byte(test.text))
		if f.Name != "c" || f.Kind != test.kind || string(f.Value) != test.want {
			t.Errorf("type %d, %q: kind %d, %q; want kind %d, %q", test.base, test.text, f.Kind, f.Value, test.kind, test.want)
		}
		if f := c.Field(nil); f.Kind != row.Null || f.Value != nil {
			t.Errorf("type %d: NULL is %+v", test.base, f)
		}
	}
}

// Whatever a text holds, what is called a number is one in JSON, and bytes are
// those of the text.
func FuzzField(f *testing.F) {
	f.Add("1.50")
	f.Add("-0e+1")
	f.Add("NaN")
	f.Add(`\xC0de`)
	f.Add("007")
	f.Add("1.")
	f.Fuzz(func(t *testing.T, text string) {
		number := Column{Type: typeNumeric}
		if got := number.Field([]byte(text)); got.Kind == row.Number && !json.Valid(got.Value) {
			t.Errorf("%q is called a number", text)
		} else if got.Kind != row.Number && got.Kind != row.Text {
			t.Errorf("%q is of kind %d", text, got.Kind)
		}
		raw := Column{Type: typeBytea}
		if got := raw.Field([]byte(text)); got.Kind == row.Bytes && len(text) != 2+2*len(got.Value) {
			t.Errorf("%q is %d bytes", text, len(got.Value))
		}
	})
}
