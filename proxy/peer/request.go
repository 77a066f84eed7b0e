package peer

import (
	"encoding/binary"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// ring is what an end says of its table of owners.
type ring struct{ version, checksum uint64 }

// request is what every request begins with.
type request struct {
	id     uint64
	hops   byte
	ring   ring
	remain time.Duration // how long the answer is waited for; 0: not said
	caller proxy.Caller  // Low is told since version 2
}

const flagLow = 1

// append appends the request's fields in a version of the protocol.
func (r *request) append(dst []byte, version uint64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, r.id)
	dst = append(dst, r.hops)
	dst = r.ring.append(dst)
	// In whole microseconds, and never down to "not said".
	dst = binary.AppendUvarint(dst, uint64((r.remain+time.Microsecond-1)/time.Microsecond))
	dst = appendText(dst, r.caller.Name)
	if version >= 2 {
		var flags byte
		if r.caller.Low {
			flags |= flagLow
		}
		dst = append(dst, flags)
	}
	return dst
}

// decode reads the request's fields. The caller's name is returned apart, as
// bytes that are shared with the body: it is seldom a new one.
func (r *request) decode(c *cursor, version uint64) (caller []byte) {
	r.id = c.uint64()
	r.hops = c.byte()
	r.ring.decode(c)
	const most = uint64(time.Hour / time.Microsecond)
	r.remain = time.Duration(min(c.uvarint(), most)) * time.Microsecond
	caller = c.text(maxNameBytes)
	r.caller.Low = version >= 2 && c.byte()&flagLow != 0
	return caller
}

// setRequestID writes the number into a frame that is made but for that.
func setRequestID(frame []byte, id uint64) { binary.BigEndian.PutUint64(frame[headBytes:], id) }

func (r ring) append(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.AppendUvarint(dst, r.version), r.checksum)
}

func (r *ring) decode(c *cursor) { r.version, r.checksum = c.uvarint(), c.uint64() }

// What a read may ask for.
const (
	readMaxStale = 1 << iota
	readStrong
	readToken
)

// appendReads appends the reads of a load. That a key's text names its use case
// is all that is needed: both ends know which ones mean the same.
func appendReads(dst []byte, reqs []proxy.Request) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(reqs)))
	for i := range reqs {
		r := &reqs[i]
		dst = appendText(dst, r.Key.Text)
		var flags byte
		if r.MaxStale != 0 {
			flags |= readMaxStale
		}
		if r.Strong {
			flags |= readStrong
		}
		if r.Token != 0 {
			flags |= readToken
		}
		dst = append(dst, flags)
		if r.MaxStale != 0 {
			dst = binary.AppendUvarint(dst, uint64(r.MaxStale))
		}
		if r.Token != 0 {
			dst = binary.BigEndian.AppendUint64(dst, uint64(r.Token))
		}
	}
	return dst
}

// decodeReads reads what appendReads wrote, into reqs' memory. Keys share the
// body. A key that the catalog does not accept is an error of the whole.
func decodeReads(c *cursor, catalog *proxy.Catalog, reqs []proxy.Request) ([]proxy.Request, error) {
	reqs = reqs[:0]
	for range c.count(2, maxKeys) {
		var r proxy.Request
		text := c.text(proxy.MaxKeyBytes)
		flags := c.byte()
		if flags&readMaxStale != 0 {
			if r.MaxStale = time.Duration(c.uvarint()); r.MaxStale < 0 {
				c.fail()
			}
		}
		r.Strong = flags&readStrong != 0
		if flags&readToken != 0 {
			r.Token = proxy.Time(c.uint64())
		}
		if c.bad {
			return reqs, errMalformed
		}
		var err error
		if r.Key, err = catalog.Key(text); err != nil {
			return reqs, err
		}
		reqs = append(reqs, r)
	}
	return reqs, c.end()
}

// appendKeys appends texts of keys.
func appendKeys(dst []byte, keys [][]byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(keys)))
	for _, k := range keys {
		dst = appendText(dst, k)
	}
	return dst
}

// decodeKeys reads what appendKeys wrote. The texts share the body.
func decodeKeys(c *cursor, most int) ([][]byte, error) {
	keys := make([][]byte, 0, c.count(1, most))
	for range cap(keys) {
		keys = append(keys, c.text(proxy.MaxKeyBytes))
	}
	return keys, c.end()
}
