package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// kind says what a frame is. The numbers are the protocol.
type kind byte

const (
	frameHello     kind = 1  // both: who is there, and what it speaks
	frameRefusal   kind = 2  // both: the handshake ends here, and why
	frameProof     kind = 3  // both: the key is known
	frameTable     kind = 4  // both: use cases and their fingerprints
	frameLoad      kind = 10 // to the server, like all up to framePing
	frameForget    kind = 11
	frameAsk       kind = 12
	frameHottest   kind = 13
	framePing      kind = 19
	frameBye       kind = 20 // both: no new requests here; from a client: nor will any come
	frameSchema    kind = 30 // to the client, like all that follow
	frameLoaded    kind = 31
	frameForgotten kind = 32
	frameRecord    kind = 33
	frameKeys      kind = 34
	frameRefused   kind = 35
	framePong      kind = 39
)

const (
	headBytes = 5 // length of kind and body, kind
	// firstPiece is what is allocated for a frame before any of it has come.
	firstPiece = 4 << 10
	// What a frame may have: of who has not said who it is, of a table, of
	// a request, of a reply.
	maxStranger = 1 << 10
	maxTable    = 1 << 20
	maxRequest  = 1 << 20
	maxReply    = 64 << 20
)

// errMalformed is returned for bytes that are not the protocol.
var errMalformed = errors.New("not the peer protocol")

// beginFrame appends a frame's head; endFrame completes it once the body
// stands behind.
func beginFrame(dst []byte, k kind) []byte { return append(dst, 0, 0, 0, 0, byte(k)) }

func endFrame(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// appendFrame appends a frame whose body is there already.
func appendFrame(dst []byte, k kind, body []byte) []byte {
	start := len(dst)
	return endFrame(append(beginFrame(dst, k), body...), start)
}

// readHead reads the head of a frame: what it is, and how long its body.
func readHead(r io.Reader, head *[headBytes]byte, most int) (kind, int, error) {
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || uint64(n) > uint64(most)+1 {
		return 0, 0, fmt.Errorf("%w: a frame of %d bytes where at most %d are allowed", errMalformed, n, most+1)
	}
	return kind(head[4]), int(n) - 1, nil
}

// readBody reads n bytes into buf, which grows with what has come and never
// by what is announced.
func readBody(r io.Reader, buf []byte, n int) ([]byte, error) {
	buf = buf[:0]
	for len(buf) < n {
		step := min(n-len(buf), max(len(buf), cap(buf), firstPiece))
		buf = slices.Grow(buf, step)
		got, err := io.ReadFull(r, buf[len(buf):len(buf)+step])
		buf = buf[:len(buf)+got]
		if err != nil {
			return nil, err
		}
	}
	return buf, nil
}

// cursor reads the fields of a body. The first that is not there makes it bad,
// and it gives only zeros from then on.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) fail() {
	c.bad, c.rest = true, nil
}

func (c *cursor) byte() byte {
	if len(c.rest) == 0 {
		c.fail()
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

func (c *cursor) uvarint() uint64 {
	v, w := binary.Uvarint(c.rest)
	if w <= 0 {
		c.fail()
		return 0
	}
	c.rest = c.rest[w:]
	return v
}

func (c *cursor) uint64() uint64 {
	b := c.fixed(8)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// fixed returns the next n bytes, shared with the body; nil: there are less.
func (c *cursor) fixed(n int) []byte {
	if n > len(c.rest) {
		c.fail()
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// text returns bytes with a length in front, shared with the body.
func (c *cursor) text(most int) []byte {
	n := c.uvarint()
	if n > uint64(most) {
		c.fail()
		return nil
	}
	return c.fixed(int(n))
}

// count returns a number of things that take at least size bytes each: never
// more than can still follow.
func (c *cursor) count(size, most int) int {
	n := c.uvarint()
	if n > uint64(most) || n > uint64(len(c.rest)/size) {
		c.fail()
		return 0
	}
	return int(n)
}

// end returns an error unless the body was read to its end, and well.
func (c *cursor) end() error {
	if c.bad || len(c.rest) > 0 {
		return errMalformed
	}
	return nil
}

func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
