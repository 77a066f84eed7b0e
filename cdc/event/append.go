package event

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// The parts of the format that writer and reader share.
const (
	version       = 2 // written; version and version−1 are read
	kindChange    = 1
	kindCheck     = 2
	flagLast      = 1
	maxFields     = 4096 // PostgreSQL has 1,600 columns at most, SQLite 2,000 by default
	maxPartitions = 1 << 16
	maxExtensions = 64
	extState      = 1 // Checkpoint.State
)

// Append appends the record's bytes. Exactly one of r.Change and r.Checkpoint
// is set; of a checkpoint, r.Stream must be the hash of its stream id.
func Append(dst []byte, r *Record) []byte {
	dst = append(dst, version)
	if r.Change != nil {
		dst = appendHead(append(dst, kindChange), r.Change.Table, r)
		dst = appendChange(dst, r.Change)
	} else {
		dst = appendHead(append(dst, kindCheck), "", r)
		dst = appendCheckpoint(dst, r.Checkpoint)
	}
	return appendExtensions(dst, r.Checkpoint)
}

func appendExtensions(dst []byte, c *Checkpoint) []byte {
	if c == nil || len(c.State) == 0 {
		return append(dst, 0)
	}
	dst = append(dst, 1, extState)
	return append(binary.AppendUvarint(dst, uint64(len(c.State))), c.State...)
}

func appendHead(dst []byte, table string, r *Record) []byte {
	dst = appendString(dst, table)
	dst = binary.BigEndian.AppendUint64(dst, r.Stream)
	dst = binary.AppendUvarint(dst, r.Position.Commit)
	dst = binary.AppendUvarint(dst, r.Position.Seq)
	dst = binary.AppendVarint(dst, int64(r.Position.Commit-r.Prev.Commit))
	return binary.AppendUvarint(dst, r.Prev.Seq)
}

func appendChange(dst []byte, c *Change) []byte {
	flags := byte(0)
	if c.Last {
		flags |= flagLast
	}
	dst = append(dst, byte(c.Op), flags)
	dst = binary.AppendUvarint(dst, c.Tx)
	dst = binary.BigEndian.AppendUint64(dst, uint64(c.Commit))
	return appendFields(appendFields(dst, c.Before), c.After)
}

func appendFields(dst []byte, fields []row.Field) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(fields)))
	for i := range fields {
		f := &fields[i]
		dst = append(appendString(dst, f.Name), byte(f.Kind))
		if hasText(f.Kind) {
			dst = append(binary.AppendUvarint(dst, uint64(len(f.Value))), f.Value...)
		}
	}
	return dst
}

func hasText(k row.Kind) bool { return k != row.Null && k != row.Unknown }

func appendCheckpoint(dst []byte, c *Checkpoint) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(c.T))
	dst = binary.BigEndian.AppendUint64(dst, c.Nonce)
	return appendStream(dst, &c.Stream)
}

// appendStream is unambiguous: fixed sizes, then numbers and a string that say
// where they end.
func appendStream(dst []byte, s *StreamID) []byte {
	dst = binary.BigEndian.AppendUint64(dst, s.Source.System)
	dst = binary.BigEndian.AppendUint64(dst, s.Source.Timeline)
	dst = binary.BigEndian.AppendUint64(dst, uint64(s.Source.Started))
	dst = binary.BigEndian.AppendUint64(dst, s.Topic)
	dst = binary.AppendUvarint(dst, uint64(s.Partitions))
	return appendString(dst, s.Slot)
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Hash is the short name of a stream that every record carries: the first
// eight bytes of the SHA-256 of the stream id as a checkpoint spells it.
func (s StreamID) Hash() uint64 {
	sum := sha256.Sum256(appendStream(nil, &s))
	return binary.BigEndian.Uint64(sum[:8])
}
