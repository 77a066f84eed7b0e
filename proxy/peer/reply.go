package peer

import (
	"encoding/binary"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// reply is what every reply begins with.
type reply struct {
	id   uint64
	ring ring
}

func (r *reply) append(dst []byte) []byte {
	return r.ring.append(binary.AppendUvarint(dst, r.id))
}

func (r *reply) decode(c *cursor) {
	r.id = c.uvarint()
	r.ring.decode(c)
}

// What an answer has. Its origin stands in the two bits above.
const (
	answerRow = 1 << iota
	answerPinned
	answerPosition
	answerHorizon
	originShift = 4
)

// appendResults appends the answers of a load. schemaID gives the number under
// which the client knows a schema; false: it cannot be told. An answer that
// cannot be carried, since it is too large or has no schema, is unavailable
// here: who asks can read it for itself.
func appendResults(dst []byte, results []proxy.Result, most int, schemaID func(*row.Schema) (uint64, bool)) []byte {
	const overhead = 128 // of an answer without its row
	start := len(dst)
	dst = binary.AppendUvarint(dst, uint64(len(results)))
	for i := range results {
		res := &results[i]
		room := most - (len(dst) - start) - (len(results)-i+1)*overhead
		switch id, ok := uint64(0), true; {
		case res.Err != nil:
			c, reason := classify(res.Err)
			if reason = clip(reason); len(reason) > room {
				reason = ""
			}
			dst = appendText(append(dst, byte(c)), reason)
		default:
			if res.Row.Exists() {
				if id, ok = schemaID(res.Row.Schema()); !ok || res.Row.Size() > room {
					dst = append(dst, byte(classUnavailable), 0)
					continue
				}
			}
			dst = appendAnswer(append(dst, byte(fine)), res, id)
		}
	}
	return dst
}

func appendAnswer(dst []byte, res *proxy.Result, schema uint64) []byte {
	flags := byte(res.Origin) << originShift
	if res.Row.Exists() {
		flags |= answerRow
	}
	if res.Pinned {
		flags |= answerPinned
	}
	if res.Position.Known() {
		flags |= answerPosition
	}
	if res.Horizon != 0 {
		flags |= answerHorizon
	}
	dst = append(dst, flags)
	dst = binary.BigEndian.AppendUint64(dst, uint64(res.AsOf))
	dst = binary.BigEndian.AppendUint64(dst, uint64(res.Upper))
	if flags&answerPosition != 0 {
		dst = binary.AppendUvarint(dst, res.Position.Commit)
		dst = binary.AppendUvarint(dst, res.Position.Seq)
	}
	if flags&answerHorizon != 0 {
		dst = binary.AppendUvarint(dst, res.Horizon)
	}
	if flags&answerRow != 0 {
		dst = binary.AppendUvarint(dst, schema)
		dst = binary.AppendUvarint(dst, uint64(res.Row.Size()))
		dst = res.Row.AppendData(dst)
	}
	return dst
}

// decodeResults reads the answers of a load, one for each of results. Rows
// share the body.
func decodeResults(c *cursor, results []proxy.Result, schemas []*row.Schema) error {
	if c.count(2, maxKeys) != len(results) {
		return errMalformed
	}
	for i := range results {
		results[i] = proxy.Result{}
		if k := class(c.byte()); k != fine {
			results[i].Err = fault(k, string(c.text(maxReason)))
			continue
		}
		if err := decodeAnswer(c, &results[i], schemas); err != nil {
			return err
		}
	}
	return c.end()
}

func decodeAnswer(c *cursor, res *proxy.Result, schemas []*row.Schema) error {
	flags := c.byte()
	res.Origin = proxy.Origin(flags >> originShift)
	res.AsOf = proxy.Time(c.uint64())
	res.Upper = proxy.Time(c.uint64())
	res.Pinned = flags&answerPinned != 0
	if flags&answerPosition != 0 {
		res.Position.Commit = c.uvarint()
		res.Position.Seq = c.uvarint()
	}
	if flags&answerHorizon != 0 {
		res.Horizon = c.uvarint()
	}
	if c.bad || res.Origin > proxy.FromStale {
		return errMalformed
	}
	if flags&answerRow == 0 {
		return nil
	}
	id, data := c.uvarint(), c.text(maxReply)
	if c.bad || id >= uint64(len(schemas)) {
		return errMalformed
	}
	var err error
	res.Row, err = row.Decode(schemas[id], data)
	return err
}
