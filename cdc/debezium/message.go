package debezium

import (
	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

// Message is what one record of a connector says: a change, a checkpoint row,
// or nothing that matters here (both nil).
type Message struct {
	// Tx is the transaction, as the connector has it: 32 bits of PostgreSQL's. 0:
	// what a snapshot has read, which is visible; or the source is one that cannot
	// be asked for transactions.
	Tx     uint64
	Change *event.Change // of one row, with the columns that keys are made of; or of a whole table
	Mark   *Mark
	Anew   bool // a snapshot has read the table of checkpoints: the log is taken up anew
}

// Mark is a row of the checkpoint table.
type Mark struct {
	Row         int64
	Seq         uint64
	T           proxy.Time
	Source      proxy.Identity
	Slot        string
	Fingerprint string // empty: the row does not carry one
}

// DecodeError is returned for a record that cannot be understood. Whoever gets
// it has to make void what the record may have been about, and not before its
// transaction is visible.
type DecodeError struct {
	Table  string // empty: not known, so it may be any table
	Tx     uint64 // 0: not known
	Reason string // what is wrong with the record
	Mend   string // what to do about it
}

func (e *DecodeError) Error() string {
	text := e.Reason
	if e.Table != "" {
		text = "table " + e.Table + ": " + text
	}
	if e.Mend != "" {
		text += ": " + e.Mend
	}
	return text
}
