package resp

import (
	"strconv"
	"strings"
)

// Writer appends replies to Out in the protocol version of its connection.
type Writer struct {
	Out []byte
	V3  bool // RESP3; otherwise RESP2
}

func (w *Writer) head(kind byte, n int64) {
	w.Out = append(w.Out, kind)
	w.Out = strconv.AppendInt(w.Out, n, 10)
	w.Out = append(w.Out, '\r', '\n')
}

// Simple writes a one-line status.
func (w *Writer) Simple(s string) {
	w.Out = append(w.Out, '+')
	w.Out = append(append(w.Out, s...), '\r', '\n')
}

// Error writes an error: its word in capitals, and then the reason. Line ends
// in it become spaces.
func (w *Writer) Error(s string) {
	if strings.ContainsAny(s, "\r\n") {
		s = strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
	}
	w.Out = append(w.Out, '-')
	w.Out = append(append(w.Out, s...), '\r', '\n')
}

// Int writes an integer.
func (w *Writer) Int(n int64) { w.head(':', n) }

// Bulk writes bytes.
func (w *Writer) Bulk(b []byte) {
	w.head('$', int64(len(b)))
	w.Out = append(append(w.Out, b...), '\r', '\n')
}

// BulkString writes a string as bytes.
func (w *Writer) BulkString(s string) {
	w.head('$', int64(len(s)))
	w.Out = append(append(w.Out, s...), '\r', '\n')
}

// BulkFrom makes all that was appended to Out since it had the length start
// into one bulk: for a value whose length is known only once it is written.
func (w *Writer) BulkFrom(start int) {
	var room [24]byte
	n := len(w.Out) - start
	head := append(strconv.AppendInt(append(room[:0], '$'), int64(n), 10), '\r', '\n')
	w.Out = append(w.Out, head...)
	copy(w.Out[start+len(head):], w.Out[start:start+n])
	copy(w.Out[start:], head)
	w.Out = append(w.Out, '\r', '\n')
}

// Null writes that there is no value.
func (w *Writer) Null() {
	if w.V3 {
		w.Out = append(w.Out, "_\r\n"...)
		return
	}
	w.Out = append(w.Out, "$-1\r\n"...)
}

// Array begins an array of n replies.
func (w *Writer) Array(n int) { w.head('*', int64(n)) }

// Set begins a set of n replies: an array in RESP2.
func (w *Writer) Set(n int) { w.head(w.pick('~', '*'), int64(n)) }

// Map begins a map of n pairs of replies: an array of 2n in RESP2.
func (w *Writer) Map(n int) {
	if w.V3 {
		w.head('%', int64(n))
		return
	}
	w.Array(2 * n)
}

// Attribute begins n pairs of replies about the reply behind them. RESP2 has
// no such thing.
func (w *Writer) Attribute(n int) { w.head('|', int64(n)) }

// Bool writes a truth value: 1 or 0 in RESP2.
func (w *Writer) Bool(b bool) {
	switch {
	case w.V3 && b:
		w.Out = append(w.Out, "#t\r\n"...)
	case w.V3:
		w.Out = append(w.Out, "#f\r\n"...)
	case b:
		w.Int(1)
	default:
		w.Int(0)
	}
}

// Verbatim writes plain text that is meant to be read by people: a bulk in
// RESP2.
func (w *Writer) Verbatim(text string) {
	if !w.V3 {
		w.BulkString(text)
		return
	}
	w.head('=', int64(len(text)+len("txt:")))
	w.Out = append(append(append(w.Out, "txt:"...), text...), '\r', '\n')
}

func (w *Writer) pick(v3, v2 byte) byte {
	if w.V3 {
		return v3
	}
	return v2
}
