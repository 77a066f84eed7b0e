package resp

import "testing"

func TestWriter(t *testing.T) {
	for _, c := range []struct {
		name   string
		write  func(w *Writer)
		v2, v3 string
	}{
		{"simple", func(w *Writer) { w.Simple("OK") }, "+OK\r\n", "+OK\r\n"},
		{"error", func(w *Writer) { w.Error("ERR a\r\nb") }, "-ERR a  b\r\n", "-ERR a  b\r\n"},
		{"int", func(w *Writer) { w.Int(-7) }, ":-7\r\n", ":-7\r\n"},
		{"bulk", func(w *Writer) { w.Bulk([]byte("a\r\n\x00")) }, "$4\r\na\r\n\x00\r\n", "$4\r\na\r\n\x00\r\n"},
		{"empty bulk", func(w *Writer) { w.BulkString("") }, "$0\r\n\r\n", "$0\r\n\r\n"},
		{"null", func(w *Writer) { w.Null() }, "$-1\r\n", "_\r\n"},
		{"array", func(w *Writer) { w.Array(2) }, "*2\r\n", "*2\r\n"},
		{"set", func(w *Writer) { w.Set(2) }, "*2\r\n", "~2\r\n"},
		{"map", func(w *Writer) { w.Map(2) }, "*4\r\n", "%2\r\n"},
		{"true", func(w *Writer) { w.Bool(true) }, ":1\r\n", "#t\r\n"},
		{"false", func(w *Writer) { w.Bool(false) }, ":0\r\n", "#f\r\n"},
		{"verbatim", func(w *Writer) { w.Verbatim("hi") }, "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"},
		{"bulk from", func(w *Writer) {
			w.Int(1)
			start := len(w.Out)
			w.Out = append(w.Out, "0123456789"...)
			w.BulkFrom(start)
		}, ":1\r\n$10\r\n0123456789\r\n", ":1\r\n$10\r\n0123456789\r\n"},
	} {
		for v3, want := range map[bool]string{false: c.v2, true: c.v3} {
			w := Writer{V3: v3}
			c.write(&w)
			if string(w.Out) != want {
				t.Errorf("%s, RESP3 %v: %q, want %q", c.name, v3, w.Out, want)
			}
		}
	}
}
