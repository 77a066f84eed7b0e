package debezium

import (
	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// envelope takes a record that says what was done, with the rows before and
// after it.
func (d *Decoder) envelope(topic string, r *record, key []byte) *DecodeError {
	if string(r.op) == `"m"` {
		return nil // pg_logical_emit_message: no row of any table
	}
	// Not in the place of layoutTombstone: several connectors may write to one
	// topic, and nobody knows whose a tombstone is.
	if d.topics[topic] == layoutUnknown {
		d.topics[topic] = layoutEnvelope
	}
	s, ok := sourceOf(r.source)
	t := d.tableOf(&s)
	if !ok || t == nil {
		return &DecodeError{Reason: "the record's source block does not say which table it is of", Mend: mendConverter}
	}
	if t.mark {
		return d.checkpoint(r.op, r.after, t)
	}
	return d.changeOf(t, &s, r, key, (*Decoder).rowsOfEnvelope)
}

// changeOf makes a record of a mapped table a change.
func (d *Decoder) changeOf(t *table, s *source, r *record, key []byte, rows rowsOf) *DecodeError {
	if len(t.columns) == 0 {
		return nil
	}
	tx, read := s.transaction(), string(r.op) == `"r"`
	if read { // what a snapshot has read is visible
		tx = 0
	}
	d.change = event.Change{Table: t.name, Op: operation(r.op), Tx: tx, Commit: s.commit()}
	var fault *DecodeError
	switch {
	case t.several:
		return &DecodeError{Tx: tx, Reason: "the record does not say its table's schema, and tables of that name are mapped in several", Mend: mendFlat}
	case r.op == nil:
		fault = &DecodeError{Reason: "the record does not say what was done to the row", Mend: mendFlat}
	case d.change.Op == 0:
		fault = &DecodeError{Reason: "operation " + show(r.op) + " is not known", Mend: "take a version of Freshet that knows it"}
	case tx == 0 && !read && !d.ungated:
		fault = &DecodeError{Reason: "the record does not say its transaction, so nobody can tell when it is visible", Mend: mendFlat}
	case d.change.Op == event.Truncate:
	case d.change.Op == event.Touch && s.whole():
		d.change.Op = event.SchemaChanged
	default:
		fault = d.rowChange(t, r, key, rows)
	}
	if fault != nil {
		fault.Table, fault.Tx = t.name, tx
		return fault
	}
	d.message = Message{Tx: tx, Change: &d.change}
	return nil
}

// operation returns what a record says was done; 0: it is not known. A row that
// was only read is touched: it may be as it was.
func operation(op []byte) event.Op {
	switch string(op) {
	case `"c"`:
		return event.Insert
	case `"u"`:
		return event.Update
	case `"d"`:
		return event.Delete
	case `"r"`:
		return event.Touch
	case `"t"`:
		return event.Truncate
	}
	return 0
}

// rowsOf finds the old row and the new one of a change: nil where there is
// none.
type rowsOf func(d *Decoder, t *table, r *record, key []row.Field) (before, after []row.Field, fault *DecodeError)

func (d *Decoder) rowChange(t *table, r *record, key []byte, rows rowsOf) *DecodeError {
	told, fault := d.keyOf(t, key)
	if fault == nil {
		d.change.Before, d.change.After, fault = rows(d, t, r, told)
	}
	return fault
}

// rowsOfEnvelope reads the rows that an envelope holds. An update without an
// old row has left the columns of keys as they are: the log would have told
// them else, as they are part of the replica identity. What it tells of other
// columns of an old row means nothing: null, or 0 and "" where NULL is not
// allowed.
func (d *Decoder) rowsOfEnvelope(t *table, r *record, key []row.Field) (before, after []row.Field, fault *DecodeError) {
	if d.change.Op != event.Delete {
		if after, fault = d.rowOf(1, t, r.after, r.schema, key); fault != nil {
			return nil, nil, fault
		}
	}
	switch d.change.Op {
	case event.Insert:
		return nil, after, nil
	case event.Touch:
		return after, nil, nil
	case event.Update:
		if r.before == nil || isNull(r.before) {
			return after, after, nil
		}
		before, fault = d.rowOf(0, t, r.before, r.schema, nil)
		return before, after, fault
	}
	if r.before == nil || isNull(r.before) {
		return key, nil, nil
	}
	before, fault = d.rowOf(0, t, r.before, r.schema, key)
	return before, nil, fault
}

// rowOf reads a row. key is that of its record; nil: it is another row's.
func (d *Decoder) rowOf(place int, t *table, raw, schema []byte, key []row.Field) ([]row.Field, *DecodeError) {
	if raw == nil || isNull(raw) {
		return nil, &DecodeError{Reason: "the record has no row", Mend: "let no transform take it away"}
	}
	fields, missing, fault := d.columns(d.rows[place][:0], t, raw, &t.value, schema)
	d.rows[place] = fields
	switch {
	case fault != nil:
		return nil, fault
	case missing != "":
		return nil, &DecodeError{
			Reason: "the record does not have key column " + missing,
			Mend:   "do not leave it out or rename it: column.exclude.list, column.include.list, field.name.adjustment.mode and transforms",
		}
	}
	if name := contradicts(fields, key); name != "" {
		return nil, &DecodeError{
			Reason: "key column " + name + " is another one in the record's key than in its row",
			Mend:   "let no transform, no column.mask and no column.truncate change it",
		}
	}
	return fields, nil
}

// show shows a value of a record in an error, as far as that is short.
func show(raw []byte) string { return string(raw[:min(len(raw), 20)]) }
