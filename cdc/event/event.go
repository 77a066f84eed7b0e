package event

import (
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Op is what a change did.
type Op uint8

// The operations.
const (
	Insert        Op = iota + 1 // After is the new row
	Update                      // Before has the old keys, After the new row
	Delete                      // Before has the old keys
	Touch                       // the row may have changed or gone; Before has its keys
	Truncate                    // every row of the table is gone
	SchemaChanged               // the table's columns or types may have changed
)

// StreamID identifies one unbroken stream of changes: one history of one
// source, read through one slot, into one incarnation of one topic with a
// fixed number of partitions.
type StreamID struct {
	Source     proxy.Identity
	Slot       string // the name of the slot or outbox
	Topic      uint64 // incarnation: drawn anew when the topic is found empty
	Partitions int
}

// Record is what one Kafka record holds: exactly one of Change and Checkpoint.
type Record struct {
	Stream     uint64         // StreamID.Hash of the stream it belongs to
	Prev       proxy.Position // of the record before it in its partition; zero: none
	Position   proxy.Position
	Change     *Change
	Checkpoint *Checkpoint
}

// Change is one committed change of one row, or of a whole table.
type Change struct {
	Table  string
	Op     Op
	Tx     uint64     // transaction id; 0 where the source has none
	Commit proxy.Time // when it was committed, on the source's clock
	Last   bool       // it is the last change of its key in its transaction
	Before []row.Field
	After  []row.Field
}

// Checkpoint says: every change that was visible at T and is bound for this
// partition stands in front of it.
type Checkpoint struct {
	T      proxy.Time
	Stream StreamID
	Nonce  uint64 // the relay's own: others may write into a source's log too
	State  []byte // what the relay wants to find again behind a restart; nil: nothing
}

// CheckpointRow is a checkpoint of a stream that others ship: a row of a table,
// after its Seq-th change. It is no part of the format.
type CheckpointRow struct {
	Checkpoint
	Row     int64
	Seq     uint64
	Altered bool // the source's catalog is another one than at the checkpoints before
}
