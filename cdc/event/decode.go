package event

import (
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// DecodeError is returned for bytes that are no record of a version read here.
type DecodeError struct {
	Table  string // the table concerned; empty if that could not be read
	Reason string
}

func (e *DecodeError) Error() string {
	if e.Table == "" {
		return "record: " + e.Reason
	}
	return "record of table " + e.Table + ": " + e.Reason
}

// Decode reads one record. Texts of fields, and a
// checkpoint's state, share b.
func Decode(b []byte) (*Record, error) { return new(Decoder).Decode(b) }

// Decoder reads the records of a stream one by one and reuses its memory: a
// record is valid until the next Decode, and as long as its bytes are. The
// zero Decoder is ready.
type Decoder struct {
	record     Record
	change     Change
	checkpoint Checkpoint
	before     []row.Field
	after      []row.Field
	names      map[string]string
}

// A Decoder remembers so many names of so many bytes; others are allocated.
const (
	maxNames     = 4096
	maxNameBytes = 256
)

// Decode reads one record.
func (d *Decoder) Decode(b []byte) (*Record, error) {
	r := reader{rest: b}
	ver, kind := r.byte(), r.byte()
	table := d.name(r.bytes())
	if r.reason != "" {
		return nil, &DecodeError{Reason: r.reason}
	}
	if ver != version && ver != version-1 {
		r.fail("version is not known")
	}
	d.head(&r)
	switch kind {
	case kindChange:
		d.readChange(&r, table)
	case kindCheck:
		d.readCheckpoint(&r, table)
	default:
		r.fail("kind is not known")
	}
	if ver >= 2 {
		d.extensions(&r)
	}
	if len(r.rest) > 0 {
		r.fail("bytes after the end")
	}
	if r.reason != "" {
		return nil, &DecodeError{Table: table, Reason: r.reason}
	}
	return &d.record, nil
}

func (d *Decoder) head(r *reader) {
	d.record = Record{Stream: r.u64()}
	d.record.Position = proxy.Position{Commit: r.uvarint(), Seq: r.uvarint()}
	d.record.Prev = proxy.Position{Commit: d.record.Position.Commit - uint64(r.varint()), Seq: r.uvarint()}
}

func (d *Decoder) readChange(r *reader, table string) {
	op, flags := r.byte(), r.byte()
	if table == "" {
		r.fail("change of no table")
	}
	if op == 0 || flags&^flagLast != 0 {
		r.fail("operation or flags are not known")
	}
	d.change = Change{Table: table, Op: Op(op), Last: flags&flagLast != 0, Tx: r.uvarint(), Commit: proxy.Time(r.u64())}
	d.before, d.after = d.fields(r, d.before), d.fields(r, d.after)
	if len(d.before) > 0 {
		d.change.Before = d.before
	}
	if len(d.after) > 0 {
		d.change.After = d.after
	}
	d.record.Change = &d.change
}

func (d *Decoder) fields(r *reader, reuse []row.Field) []row.Field {
	fields := reuse[:0]
	for i := range r.count(maxFields) {
		name := r.bytes()
		f := row.Field{}
		if i < len(reuse) && reuse[i].Name == string(name) {
			f.Name = reuse[i].Name // as in the record before
		} else {
			f.Name = d.name(name)
		}
		f.Kind = row.Kind(r.byte())
		if f.Kind > row.Unknown {
			r.fail("kind of a column is not known")
		} else if hasText(f.Kind) {
			f.Value = r.bytes()
		}
		if r.reason != "" {
			break
		}
		fields = append(fields, f)
	}
	return fields
}

func (d *Decoder) readCheckpoint(r *reader, table string) {
	c := &d.checkpoint
	*c = Checkpoint{T: proxy.Time(r.u64()), Nonce: r.u64()}
	c.Stream.Source = proxy.Identity{System: r.u64(), Timeline: r.u64(), Started: int64(r.u64())}
	c.Stream.Topic = r.u64()
	partitions := r.uvarint()
	c.Stream.Slot = d.name(r.bytes())
	if partitions == 0 || partitions > maxPartitions || table != "" {
		r.fail("checkpoint is malformed")
		return
	}
	c.Stream.Partitions = int(partitions)
	if r.reason == "" && c.Stream.Hash() != d.record.Stream {
		r.fail("checkpoint is of another stream than its record")
	}
	d.record.Checkpoint = c
}

func (d *Decoder) extensions(r *reader) {
	for range r.count(maxExtensions) {
		id, content := r.uvarint(), r.bytes()
		if c := d.record.Checkpoint; c != nil && id == extState && len(content) > 0 {
			c.State = content
		}
	}
}

// name returns b as a string that it remembers: a stream repeats few names.
func (d *Decoder) name(b []byte) string {
	if s, ok := d.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if d.names == nil {
		d.names = map[string]string{}
	}
	if len(d.names) < maxNames && len(s) <= maxNameBytes {
		d.names[s] = s
	}
	return s
}
