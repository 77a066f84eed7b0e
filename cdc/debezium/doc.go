// Package debezium follows the topics of Debezium's connectors: a [Decoder]
// makes a record the change, or the checkpoint, that it tells of, and a [Stream]
// holds both back until they can be read in the database.
//
// # What a record is
//
// Records are JSON, as Connect's JsonConverter writes it, with schemas or
// without, keys and values each in their own way. A value is
//
//   - an envelope: what was done (op), the row before and after it, and a source
//     block with table, transaction and time;
//   - a row that the transform ExtractNewRecordState has taken out of its
//     envelope, with what it was asked to add: __op, __schema, __table and the
//     transaction (__txId or __source_txId) are needed, __source_ts_ms and
//     __source_snapshot are of use;
//   - a tombstone, which says nothing new behind the record of a deletion;
//   - of the connector's own: heartbeats, transactions, logical messages. They
//     say nothing of any row;
//   - a row of a table of checkpoints, which a heartbeat has updated: a [Mark].
//
// Topics may have any names, and one may hold many tables. Headers are not read.
// Everything else is a [*DecodeError], which names what is wrong and the mend:
// Avro, text, a row without its table or transaction, an operation that is not
// known.
//
// # What a change tells
//
// A record has no position, so a change of it replaces nothing, and only the
// columns that keys are made of are read: each is byte for byte what a fill
// makes of it. What cannot be is an error, and so is a key column that is left
// out, or that the record's key tells differently. Bytes that were written
// without a schema, and may be base64 as well as hexadecimal digits, are one;
// so is a number that is not in digits.
//
// A key column is Unknown where the connector does not have its value (its
// placeholder, in any form), where it is null, and where a row without an
// envelope was updated: then only the columns of the record's key are those of
// the old row, too. Of an old row in an envelope only the columns of the table's
// replica identity can be believed. Others are null, or 0 and "" where NULL is
// not allowed. That the columns of keys are among them is what the source
// verifies when it completes a use case.
//
// A row that a snapshot has read (op r) is a change that is visible already: its
// key is dropped. One that is marked as the first or the last of its table makes
// the table void, as a snapshot stands for whatever was missed before it. So does
// one of a table of checkpoints, and makes all tables void in a gap: a connector
// that has lost its place reads all of them anew, of which some may be empty.
//
// A truncation comes only from connectors with skipped.operations=none, and not
// through ExtractNewRecordState; the fingerprint in the checkpoints tells of it,
// too.
//
// # Other databases
//
// A table of a database without schemas (MySQL) is database.table. Its changes
// have no transaction that could be asked for, and need none where a visibility
// lag is declared instead. Everywhere else a change without one, or with another
// database's, is an error: it could not be gated.
//
// # When a change is applied
//
// A connector ships a commit when it is in the log, and its rows may be readable
// only later. A [Stream] holds each record, and all behind it in its partition,
// until a snapshot of the primary shows its transaction: one query for all
// partitions, at once where something waits, then every 5 to 20 ms. Checkpoints
// only wait for their turn. What is held is bounded; beyond that the topics wait.
//
// What lies before the position from which topics are followed, or in a hole,
// may also become readable later, and is never told of: the [Barrier] pins what is
// read until all transactions have ended that began before the position was
// known. It is raised at the start, at each gap, and by a record that does not
// tell its transaction. It is raised, too, when a table was read anew, as a
// snapshot of the log sees what readers do not; and with each change of the
// catalog: a table may have come to be shipped, and what running transactions
// wrote to it before is not.
//
// A source that cannot be asked says how long it takes at most: each record waits
// for that from its arrival, and the barrier from its raise. That is an
// assumption. It shows to be wrong in what the auditor finds, and in nothing
// here: a record does not tell when its row could be read.
//
// A checkpoint row whose fingerprint of the catalog is another than the newest
// one's makes everything void first. Where the rows carry none, or one of other
// tables than are mapped, the node reads the catalog itself after the row has
// come.
//
// # Use
//
// A Decoder serves one goroutine. Its message is good until the next one, and
// shares the record's memory. It remembers the tables that records name, and how
// the records of a topic are laid out, so that it knows what a tombstone is.
//
// Read message.go first, then decode.go, decode_record.go, decode_source.go,
// decode_envelope.go, decode_flat.go and decode_mark.go; below them are key.go,
// value.go, value_schema.go and decode_json.go. What holds changes back begins in
// stream.go; then look.go, which asks the primary, barrier.go and status.go.
package debezium
