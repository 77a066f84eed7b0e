package debezium

import (
	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Options of a Decoder.
type Options struct {
	// Catalog says which tables are mapped, and of which columns their keys are
	// made. Records of other tables say nothing. Nil: no table is mapped.
	Catalog *proxy.Catalog
	// CheckpointTable is what the names of the tables begin with whose rows are
	// checkpoints. Empty: there are none.
	CheckpointTable string
	// Unavailable stands in the place of a value that the connector does not have
	// (unavailable.value.placeholder).
	Unavailable string
}

// Decoder decodes the records of one connector. It serves one goroutine.
type Decoder struct {
	options     Options
	unavailable string
	ungated     bool              // the source cannot be asked for transactions: a change needs none
	tables      map[string]*table // by their names as a record tells them
	topics      map[string]layout // of each topic's records

	record  record
	message Message
	change  event.Change
	mark    Mark
	name    []byte         // of a table, being built
	text    []byte         // what of the message is not in the record as it is
	rows    [3][]row.Field // the old row, the new row, the key
}

// layout is how the records of a topic are laid out.
type layout uint8

const (
	layoutUnknown   layout = iota
	layoutEnvelope         // what was done, with the rows inside
	layoutFlat             // the row itself; its deletion is a row, too
	layoutTombstone        // the row itself; its deletion is a tombstone, as far as is known
)

// NewDecoder returns a decoder.
func NewDecoder(o Options) *Decoder {
	return &Decoder{
		options:     o,
		unavailable: placeholder(o.Unavailable),
		tables:      map[string]*table{},
		topics:      map[string]layout{},
	}
}

// Decode decodes a record. The message is good until the next call, and shares
// the record's memory. The error is a *DecodeError.
func (d *Decoder) Decode(topic string, key, value []byte) (*Message, error) {
	d.message, d.text = Message{}, d.text[:0]
	if err := d.decode(topic, key, value); err != nil {
		return nil, err
	}
	return &d.message, nil
}

// decode returns an error, and not a *DecodeError that is nil in one.
func (d *Decoder) decode(topic string, key, value []byte) error {
	if len(value) == 0 {
		return d.tombstone(topic)
	}
	if value[0] == 0 {
		return &DecodeError{Reason: "the record is Avro, or another form that needs a schema registry", Mend: mendConverter}
	}
	r := &d.record
	if !r.read(value) {
		return &DecodeError{Reason: "the record is not a JSON object", Mend: mendConverter}
	}
	if schema, payload, wrapped := r.unwrap(); wrapped {
		if isNull(payload) {
			return d.tombstone(topic)
		}
		if !r.read(payload) {
			return &DecodeError{Reason: "the record's payload is not a JSON object", Mend: mendConverter}
		}
		r.schema = schema
	}
	var fault *DecodeError
	switch {
	case r.op != nil && r.source != nil:
		fault = d.envelope(topic, r, key)
	case r.service():
		return nil
	default:
		d.topics[topic] = layoutTombstone
		if r.deleted != nil {
			d.topics[topic] = layoutFlat
		}
		fault = d.flat(r, key)
	}
	if fault != nil {
		return fault
	}
	return nil
}

const mendConverter = "set value.converter=org.apache.kafka.connect.json.JsonConverter for the connector, and list in stream.debezium.topics what it writes"

// tombstone takes a record without a value. Behind the record of a deletion it
// says nothing new. Where it is all there is of a deletion, it does not tell of
// which transaction.
func (d *Decoder) tombstone(topic string) error {
	switch d.topics[topic] {
	case layoutEnvelope, layoutFlat:
		return nil
	}
	return &DecodeError{
		Reason: "a tombstone does not say which transaction has deleted the row",
		Mend:   "set delete.tombstone.handling.mode=rewrite for the transform ExtractNewRecordState",
	}
}
