package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// The kinds of messages, by their first byte: chapter "Logical Replication
// Message Formats" of PostgreSQL's manual.
const (
	kindBegin    = 'B'
	kindCommit   = 'C'
	kindOrigin   = 'O'
	kindRelation = 'R'
	kindType     = 'Y'
	kindInsert   = 'I'
	kindUpdate   = 'U'
	kindDelete   = 'D'
	kindTruncate = 'T'
	kindMessage  = 'M'
)

// begin opens a transaction. It comes when the commit record has been decoded.
type begin struct {
	commit uint64     // where the commit record begins: in the order of commits
	time   proxy.Time // when it was committed
	xid    uint32
}

// relation describes a table as the rows behind it have it.
type relation struct {
	id       uint32
	schema   string
	table    string
	identity byte // pg_class.relreplident
	columns  []relationColumn
}

type relationColumn struct {
	key      bool // part of the replica identity
	name     string
	typ      uint32
	modifier int32
}

// rowChange is an insert, update or delete.
type rowChange struct {
	op       byte
	relation uint32
	oldKind  byte // 'K': the identity's columns only; 'O': the whole row; 0: there is no old row
	old, new []datum
}

// datum is one column of a row: 'n' NULL, 'u' unchanged and not told, 't' text.
type datum struct {
	kind byte
	text []byte
}

// truncation empties tables.
type truncation struct {
	relations []uint32
}

// logical is what pg_logical_emit_message wrote.
type logical struct {
	transactional bool
	prefix        string
	content       []byte
}

var (
	errCutShort = errors.New("cut short")
	errTooLong  = errors.New("bytes behind the end")
	errUnknown  = errors.New("of a kind that is not known")
)

// decode reads one message. A commit, an origin and a type say nothing that is
// needed but that they are there: they are nil. Texts share b.
func decode(b []byte) (any, error) {
	r := reader{rest: b}
	var m any
	switch r.byte() {
	case kindBegin:
		m = &begin{commit: r.u64(), time: r.time(), xid: r.u32()}
	case kindCommit, kindOrigin, kindType:
		return nil, r.err
	case kindRelation:
		m = r.relation()
	case kindInsert, kindUpdate, kindDelete:
		m = r.row(b[0])
	case kindTruncate:
		m = r.truncation()
	case kindMessage:
		flags, _ := r.byte(), r.u64()
		m = &logical{transactional: flags == 1, prefix: r.string(), content: r.bytes()}
	default:
		r.fail(errUnknown)
	}
	if len(r.rest) > 0 {
		r.fail(errTooLong)
	}
	if r.err != nil {
		return nil, r.err
	}
	return m, nil
}

// relationOf returns which relation an insert, update or delete is of, even if
// the rest of it makes no sense.
func relationOf(b []byte) uint32 {
	r := reader{rest: b[1:]}
	return r.u32()
}

func (r *reader) relation() *relation {
	m := &relation{id: r.u32(), schema: r.string(), table: r.string(), identity: r.byte()}
	for range r.count(10) {
		m.columns = append(m.columns, relationColumn{key: r.byte()&1 != 0, name: r.string(), typ: r.u32(), modifier: int32(r.u32())})
	}
	return m
}

func (r *reader) row(op byte) *rowChange {
	m := &rowChange{op: op, relation: r.u32()}
	kind := r.byte()
	if op != kindInsert && (kind == 'K' || kind == 'O') {
		m.oldKind, m.old = kind, r.tuple()
		if op == kindDelete {
			return m
		}
		kind = r.byte()
	}
	if op == kindDelete || kind != 'N' {
		r.fail(errUnknown)
	}
	m.new = r.tuple()
	return m
}

func (r *reader) tuple() []datum {
	n := r.count(1)
	row := make([]datum, 0, n)
	for range n {
		d := datum{kind: r.byte()}
		switch d.kind {
		case 'n', 'u':
		case 't':
			d.text = r.bytes()
		default: // 'b', binary, is sent only to those who ask for it
			r.fail(errUnknown)
		}
		row = append(row, d)
	}
	return row
}

func (r *reader) truncation() *truncation {
	n, _ := int(r.u32()), r.byte()
	if n > len(r.rest)/4 {
		r.fail(errCutShort)
		n = 0
	}
	m := &truncation{}
	for range n {
		m.relations = append(m.relations, r.u32())
	}
	return m
}

// reader takes values off the front of rest. After the first failure it has an
// error, nothing is left, and what it returns is zero.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.fail(errCutShort)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// count reads how many things follow, each at least size bytes long.
func (r *reader) count(size int) int {
	b := r.take(2)
	if b == nil {
		return 0
	}
	n := int(binary.BigEndian.Uint16(b))
	if n > len(r.rest)/size {
		r.fail(errCutShort)
		return 0
	}
	return n
}

// time reads microseconds since the year 2000.
func (r *reader) time() proxy.Time {
	const epoch = 946684800 * time.Second
	return proxy.Time(time.Duration(r.u64())*time.Microsecond + epoch)
}

// string reads what a zero byte ends.
func (r *reader) string() string {
	n := bytes.IndexByte(r.rest, 0)
	s := string(r.take(n))
	r.take(1)
	return s
}

func (r *reader) bytes() []byte {
	b := r.take(int(r.u32()))
	if b == nil {
		return []byte{}
	}
	return b
}
