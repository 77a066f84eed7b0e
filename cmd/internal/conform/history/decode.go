package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// KindRead is the kind of a [Read]: the first field of its line.
const KindRead = "read"

// The other kinds.
const (
	kindRun      = "run"
	kindWrite    = "write"
	kindTruncate = "truncate"
	kindFill     = "fill"
	kindFault    = "fault"
	kindClock    = "clock"
	kindCounters = "counters"
	kindLag      = "lag"
	kindEnd      = "end"
)

func kindOf(record any) string {
	switch record.(type) {
	case *Run:
		return kindRun
	case *Truncate:
		return kindTruncate
	case *Fault:
		return kindFault
	case *Clock:
		return kindClock
	case *Counters:
		return kindCounters
	case *Lag:
		return kindLag
	case *End:
		return kindEnd
	}
	return ""
}

// Decoder reads lines. It keeps one copy of every text that it meets, so it is
// for one part of a history at a time. Not for concurrent use.
type Decoder struct {
	texts map[string]string
	odd   bool // a field had a value of another type
	read  Read
	write Write
	fill  Fill
}

// NewDecoder returns a Decoder.
func NewDecoder() *Decoder { return &Decoder{texts: map[string]string{}} }

// Line returns the record of one line, without its end: a *Read, *Write or
// *Fill, which are valid until the next call, or one of the other kinds.
func (d *Decoder) Line(text []byte) (any, error) {
	kind, rest, ok := Kind(text)
	if !ok {
		return nil, fmt.Errorf("no line of a history: %.60q", text)
	}
	switch kind {
	case KindRead:
		d.read = Read{}
		return &d.read, d.fields(rest, d.readField)
	case kindWrite:
		d.write = Write{}
		return &d.write, d.fields(rest, d.writeField)
	case kindFill:
		d.fill = Fill{}
		return &d.fill, d.fields(rest, d.fillField)
	}
	return other(kind, text)
}

// other reads a record of which there are few.
func other(kind string, text []byte) (any, error) {
	var record any
	switch kind {
	case kindRun:
		record = new(Run)
	case kindTruncate:
		record = new(Truncate)
	case kindFault:
		record = new(Fault)
	case kindClock:
		record = new(Clock)
	case kindCounters:
		record = new(Counters)
	case kindLag:
		record = new(Lag)
	case kindEnd:
		record = new(End)
	default:
		return nil, fmt.Errorf("no kind of record: %.60q", text)
	}
	if err := json.Unmarshal(text, record); err != nil {
		return nil, fmt.Errorf("%.60q: %w", text, err)
	}
	if run, ok := record.(*Run); ok && run.Format != Format {
		return nil, fmt.Errorf("the history is of format %d, and this is a reader of format %d", run.Format, Format)
	}
	return record, nil
}

// Kind returns the kind of a line's record, and what follows it.
func Kind(text []byte) (kind string, rest []byte, ok bool) {
	text, ok = bytes.CutPrefix(text, []byte(`{"kind":"`))
	end := bytes.IndexByte(text, '"')
	if !ok || end < 0 {
		return "", nil, false
	}
	for _, k := range [...]string{
		KindRead, kindWrite, kindFill, kindLag, kindClock, kindCounters, kindFault, kindTruncate, kindRun, kindEnd,
	} {
		if string(text[:end]) == k {
			return k, text[end+1:], true
		}
	}
	return "", nil, false
}

// Key returns the key of a line's record as it stands there, without reading
// the line. All records of one key have the same.
func Key(rest []byte) (key []byte, ok bool) {
	rest, ok = bytes.CutPrefix(rest, []byte(`,"key":"`))
	if !ok {
		return nil, false
	}
	if end := quoteAt(rest); end >= 0 {
		return rest[:end], true
	}
	return nil, false
}

func (d *Decoder) readField(name []byte, v value) (known bool) {
	r := &d.read
	switch string(name) {
	case "key":
		r.Key = d.text(v)
	case "node":
		r.Node = d.text(v)
	case "mode":
		r.Mode = Mode(d.text(v))
	case "session":
		r.Session = d.count(v)
	case "invoked":
		r.Invoked = Time(d.number(v))
	case "answered":
		r.Answered = Time(d.number(v))
	case "bound":
		r.Bound = time.Duration(d.number(v))
	case "token":
		r.Token = proxy.Time(d.number(v))
	case "probe":
		r.Probe = d.count(v)
	case "hot":
		r.Hot = d.flag(v)
	case "value":
		r.Value = d.count(v)
	case "odd":
		r.Odd = d.text(v)
	case "trouble":
		r.Trouble = Trouble(d.text(v))
	case "origin":
		r.Origin = Origin(d.text(v))
	case "as_of":
		r.AsOf = proxy.Time(d.number(v))
	case "upper":
		r.Upper = proxy.Time(d.number(v))
	case "outside":
		r.Outside = d.flag(v)
	default:
		return false
	}
	return true
}

func (d *Decoder) writeField(name []byte, v value) (known bool) {
	w := &d.write
	switch string(name) {
	case "key":
		w.Key = d.text(v)
	case "seq":
		w.Seq = d.count(v)
	case "value":
		w.Value = d.count(v)
	case "op":
		w.Op = d.text(v)
	case "node":
		w.Node = d.text(v)
	case "session":
		w.Session = d.count(v)
	case "token":
		w.Token = proxy.Time(d.number(v))
	case "begun":
		w.Begun = Time(d.number(v))
	case "acked":
		w.Acked = Time(d.number(v))
	case "outcome":
		w.Outcome = Outcome(d.text(v))
	default:
		return false
	}
	return true
}

func (d *Decoder) fillField(name []byte, v value) (known bool) {
	f := &d.fill
	switch string(name) {
	case "key":
		f.Key = d.text(v)
	case "node":
		f.Node = d.text(v)
	case "life":
		f.Life = d.count(v)
	case "sent":
		f.Sent = Time(d.number(v))
	case "ended":
		f.Ended = Time(d.number(v))
	case "failed":
		f.Failed = d.flag(v)
	default:
		return false
	}
	return true
}
