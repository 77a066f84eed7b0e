// Package event is Freshet's own format of changes and checkpoints: what one
// Kafka record holds.
//
// # Bytes
//
// A uvarint is LEB128 in its shortest form, at most ten bytes; a longer
// spelling of the same number is refused. A string is a uvarint length and
// that many bytes. A u64 is eight bytes, big-endian. An i64 is a u64 in two's
// complement. A varint is a zigzag uvarint.
//
//	version    one byte: 1 or 2
//	kind       one byte: 1 change, 2 checkpoint
//	table      string; empty in a checkpoint
//	stream     u64, StreamID.Hash
//	position   uvarint commit, uvarint seq
//	prev       varint position.commit − prev.commit (wrapping), uvarint seq
//	body       of the kind, below
//	extensions only in version 2, below
//
// The first three keep their places in every version to come, so that a record
// from the future still names the table it concerns.
//
// The body of a change:
//
//	op         one byte, not 0; one that is not known here is not refused
//	flags      one byte: bit 0 last of its key in its transaction; others 0
//	tx         uvarint
//	commit     i64, nanoseconds since the Unix epoch
//	before     fields
//	after      fields
//
// Fields are a uvarint count (at most 4096), then for each its name (a
// string), its kind (one byte, a row.Kind) and, unless the kind is Null or
// Unknown, its text (a string).
//
// The body of a checkpoint:
//
//	t          i64, nanoseconds since the Unix epoch
//	nonce      u64
//	system     u64   ┐
//	timeline   u64   │
//	started    i64   │ the stream id
//	topic      u64   │
//	partitions uvarint, 1 to 65536
//	slot       string ┘
//
// The hash of the stream id must be the record's stream.
//
// Extensions are a uvarint count (at most 64), then for each a uvarint id and
// its content (a string). An id that is not known is skipped: so relays may be
// upgraded before the nodes that read them. Version 2 defines one: id 1 of a
// checkpoint is its state, bytes that only the relay which wrote them reads.
//
// Nothing may follow. [Append] writes version 2; [Decode] reads 2 and 1.
//
// # Use
//
// [Decode] and [Decoder.Decode] return a [*DecodeError] for every input that
// is not a record, and allocate by what the input holds, never by what it
// announces. The texts of the fields and the state they return share the input's
// memory.
// A [Decoder] reuses its record and the names it has seen, so that it does not
// allocate in a running stream; it serves one goroutine. Append and Decode may
// be called concurrently.
//
// Read event.go first, then append.go, decode.go and reader.go.
package event
