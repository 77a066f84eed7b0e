package history

import (
	"encoding/json"
	"strconv"
)

// line writes the fields of one line: those of a read by hand, since a run has
// millions of them.
type line []byte

func begin(b []byte, kind string) line {
	return append(append(append(b, `{"kind":"`...), kind...), '"')
}

func (l line) name(name string) line {
	return append(append(append(l, ',', '"'), name...), '"', ':')
}

func (l line) text(name, value string) line {
	if value == "" {
		return l
	}
	l = l.name(name)
	if !plain(value) {
		quoted, _ := json.Marshal(value) // a string is always marshalled
		return append(l, quoted...)
	}
	return append(append(append(l, '"'), value...), '"')
}

// plain reports whether a text stands in JSON as it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func (l line) number(name string, n int64) line {
	if n == 0 {
		return l
	}
	return strconv.AppendInt(l.name(name), n, 10)
}

func (l line) count(name string, n uint64) line {
	if n == 0 {
		return l
	}
	return strconv.AppendUint(l.name(name), n, 10)
}

func (l line) flag(name string, set bool) line {
	if !set {
		return l
	}
	return append(l.name(name), "true"...)
}

func (l line) end() []byte { return append(l, '}', '\n') }

func appendRead(b []byte, r *Read) []byte {
	return begin(b, KindRead).
		text("key", r.Key).
		text("node", r.Node).
		text("mode", string(r.Mode)).
		count("session", r.Session).
		number("invoked", int64(r.Invoked)).
		number("answered", int64(r.Answered)).
		number("bound", int64(r.Bound)).
		number("token", int64(r.Token)).
		count("probe", r.Probe).
		flag("hot", r.Hot).
		count("value", r.Value).
		text("odd", r.Odd).
		text("trouble", string(r.Trouble)).
		text("origin", string(r.Origin)).
		number("as_of", int64(r.AsOf)).
		number("upper", int64(r.Upper)).
		flag("outside", r.Outside).
		end()
}

func appendWrite(b []byte, w *Write) []byte {
	return begin(b, kindWrite).
		text("key", w.Key).
		count("seq", w.Seq).
		count("value", w.Value).
		text("op", w.Op).
		text("node", w.Node).
		count("session", w.Session).
		number("token", int64(w.Token)).
		number("begun", int64(w.Begun)).
		number("acked", int64(w.Acked)).
		text("outcome", string(w.Outcome)).
		end()
}

func appendFill(b []byte, f *Fill) []byte {
	return begin(b, kindFill).
		text("key", f.Key).
		text("node", f.Node).
		count("life", f.Life).
		number("sent", int64(f.Sent)).
		number("ended", int64(f.Ended)).
		flag("failed", f.Failed).
		end()
}

// appendOther writes a record of which there are few.
func appendOther(b []byte, kind string, record any) ([]byte, error) {
	fields, err := json.Marshal(record)
	if err != nil {
		return b, err
	}
	b = append(begin(b, kind), ',')
	return append(append(b, fields[1:]...), '\n'), nil
}
