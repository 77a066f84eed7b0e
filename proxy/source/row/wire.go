package row

import (
	"encoding/binary"
	"errors"
)

var errData = errors.New("bytes are no row of this schema")

// AppendData appends the row's value in the form that Decode reads with the
// same schema.
func (r Row) AppendData(dst []byte) []byte { return append(dst, r.data...) }

// Decode makes the Row of one value of s out of AppendData's bytes, which
// become part of it. Bytes from elsewhere are checked: what is no value of s
// is an error here and never a surprise later.
func Decode(s *Schema, data []byte) (Row, error) {
	if s == nil {
		return Row{}, errData
	}
	rest := data
	for range s.Columns {
		if len(rest) == 0 || Kind(rest[0]) >= Unknown {
			return Row{}, errData
		}
		null := Kind(rest[0]) == Null
		rest = rest[1:]
		if null {
			continue
		}
		n, w := binary.Uvarint(rest)
		if w <= 0 || n > uint64(len(rest)-w) {
			return Row{}, errData
		}
		rest = rest[w+int(n):]
	}
	if len(rest) > 0 {
		return Row{}, errData
	}
	return Row{schema: s, data: data[:len(data):len(data)]}, nil
}
