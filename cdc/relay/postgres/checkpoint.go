package postgres

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/freshet-cache/freshet/proxy"
)

// prefix marks the log's messages that are checkpoints.
const prefix = "freshet"

// fingerprint is what the catalog says of everything that is mapped, hashed.
type fingerprint struct {
	publication uint64   // what is published of the tables
	tables      []uint64 // of each table in the order of their names: its columns, types, partitions, files
}

func (f fingerprint) equal(o fingerprint) bool {
	return f.publication == o.publication && slices.Equal(f.tables, o.tables)
}

// state is a fingerprint as checkpoints of the topic carry it: what of all
// that is mapped was announced. The names are part of it, since another
// configuration maps other tables.
func (f fingerprint) state(tables []*table) []byte {
	h := fnv.New64a()
	for i, t := range tables {
		h.Write([]byte(t.name.String()))
		h.Write(binary.BigEndian.AppendUint64([]byte{0}, f.tables[i]))
	}
	return h.Sum(binary.BigEndian.AppendUint64(nil, f.publication))
}

// announced reports whether a state was of the same publication.
func (f fingerprint) published(state []byte) bool {
	return len(state) == 16 && binary.BigEndian.Uint64(state) == f.publication
}

// checkpoint is one on its way through the log.
type checkpoint struct {
	nonce       uint64 // of the session that emitted it
	t           proxy.Time
	fingerprint fingerprint
}

const checkpointVersion = 1

// append writes: version, one byte; nonce, T, publication, eight bytes each;
// and eight for each table.
func (c *checkpoint) append(dst []byte) []byte {
	dst = append(dst, checkpointVersion)
	for _, n := range []uint64{c.nonce, uint64(c.t), c.fingerprint.publication} {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	for _, n := range c.fingerprint.tables {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	return dst
}

// parseCheckpoint reports false for what no session with that nonce and that
// many tables has written: anybody may write messages into the log, and those
// of earlier sessions come again.
func parseCheckpoint(b []byte, nonce uint64, tables int) (checkpoint, bool) {
	r := reader{rest: b}
	if r.byte() != checkpointVersion || len(b) != 1+8*(3+tables) {
		return checkpoint{}, false
	}
	c := checkpoint{nonce: r.u64(), t: proxy.Time(r.u64())}
	c.fingerprint.publication = r.u64()
	for range tables {
		c.fingerprint.tables = append(c.fingerprint.tables, r.u64())
	}
	return c, c.nonce == nonce
}
