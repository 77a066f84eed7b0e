package debezium

import "github.com/freshet-cache/freshet/proxy"

// Options of a Decoder.
type Options struct {
	// Catalog says which tables are mapped, and of which columns their keys are
	// made. Records of other tables say nothing. Nil: no table is mapped.
	Catalog *proxy.Catalog
	// Topics are those that records come from.
	Topics []string
	// CheckpointTable is what the names of the tables begin with whose rows are
	// checkpoints.
	CheckpointTable string
	// Unavailable stands in the place of a value that the connector does not have.
	Unavailable string
}

// Decoder decodes the records of one connector. It serves one goroutine.
type Decoder struct {
	options Options
	message Message
}

// NewDecoder returns a decoder.
func NewDecoder(o Options) *Decoder { return &Decoder{options: o} }

// Decode decodes a record. The message is good until the next call, and shares
// the record's memory.
func (d *Decoder) Decode(topic string, key, value []byte) (*Message, error) {
	d.message = Message{}
	if value == nil {
		return &d.message, nil
	}
	return nil, &DecodeError{Reason: "the record is not JSON"}
}
