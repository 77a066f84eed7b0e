package event

import "encoding/binary"

// reader takes values off the front of rest. After the first failure it has a
// reason, nothing is left, and what it returns is zero.
type reader struct {
	rest   []byte
	reason string
}

func (r *reader) fail(reason string) {
	if r.reason == "" {
		r.reason = reason
	}
	r.rest = nil
}

const cutShort = "cut short"

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.fail(cutShort)
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) u64() uint64 {
	if len(r.rest) < 8 {
		r.fail(cutShort)
		return 0
	}
	v := binary.BigEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail(cutShort)
		return 0
	}
	if n > 1 && r.rest[n-1] == 0 {
		r.fail("number is not in its shortest form")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// bytes reads a string; it is shared with the input.
func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.fail(cutShort)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// count reads how many things follow, each at least two bytes long.
func (r *reader) count(limit uint64) int {
	n := r.uvarint()
	if n > limit || n > uint64(len(r.rest)/2) {
		r.fail("count is too high")
		return 0
	}
	return int(n)
}
