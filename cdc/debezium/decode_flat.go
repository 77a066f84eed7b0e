package debezium

import (
	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

const mendFlat = "set add.fields=op,schema,table,source.txId,source.snapshot,source.ts_ms for the transform ExtractNewRecordState, or leave it out"

// flat takes a row that a transform has taken out of its envelope, with what it
// was asked to add to it.
func (d *Decoder) flat(r *record, key []byte) *DecodeError {
	if r.told.table == nil {
		return &DecodeError{Reason: "the record is no envelope of Debezium's, and does not say which table it is of", Mend: mendFlat}
	}
	t := d.tableOf(&r.told)
	if t == nil {
		return &DecodeError{Reason: "the record does not say which table it is of", Mend: mendFlat}
	}
	if r.op = r.did; r.op == nil && (string(r.deleted) == `"true"` || string(r.deleted) == "true") {
		r.op = []byte(`"d"`)
	}
	if t.mark {
		return d.checkpoint(r.op, r.whole, t)
	}
	return d.changeOf(t, &r.told, r, key, (*Decoder).rowsOfFlat)
}

// rowsOfFlat reads the one row that is told: of a deletion the old one, else
// the new one. Of the old row of an update only the key is told then.
func (d *Decoder) rowsOfFlat(t *table, r *record, key []row.Field) (before, after []row.Field, fault *DecodeError) {
	told, fault := d.rowOf(1, t, r.whole, r.schema, key)
	if fault != nil {
		return nil, nil, fault
	}
	switch d.change.Op {
	case event.Insert:
		return nil, told, nil
	case event.Update:
		return key, told, nil
	}
	return told, nil, nil
}
