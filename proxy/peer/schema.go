package peer

import (
	"encoding/binary"
	"sync"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// What a connection's dictionary may come to. One that is three quarters full
// is renewed, with its connection.
const (
	maxSchemas     = 4096
	maxSchemaBytes = 8 << 20
	maxColumns     = 16 << 10
	maxColumn      = 1 << 10 // bytes of a column's name
)

// told is the server end's dictionary: the schemas that a client has been told
// of. Rows travel as the number of their schema and their bytes.
type told struct {
	announce func(frame []byte) // called under mu: must not block
	renew    func()             // called once, not under mu

	numbers sync.Map // of *row.Schema: each row of each reply looks here

	mu      sync.Mutex
	alike   map[string]uint64 // by columns: a schema that is read anew is another pointer
	bytes   int
	pointed int  // how many pointers are kept
	old     bool // renew was called
}

func newTold(announce func([]byte), renew func()) *told {
	return &told{announce: announce, renew: renew, alike: map[string]uint64{}}
}

// id returns a schema's number; false: the dictionary is full. A number is
// announced before anybody has it, so a row is never in front of its schema.
func (t *told) id(s *row.Schema) (uint64, bool) {
	if n, ok := t.numbers.Load(s); ok {
		return n.(uint64), true
	}
	n, ok, full := t.tell(s)
	if full {
		t.renew()
	}
	return n, ok
}

func (t *told) tell(s *row.Schema) (n uint64, ok, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	columns := appendColumns(nil, s)
	if n, ok = t.alike[string(columns)]; !ok {
		if len(t.alike) == maxSchemas || t.bytes+len(columns) > maxSchemaBytes {
			return 0, false, t.isOldLocked()
		}
		n = uint64(len(t.alike))
		t.alike[string(columns)] = n
		t.bytes += len(columns)
		t.announce(appendFrame(nil, frameSchema, columns))
	}
	if t.pointed++; t.pointed > maxSchemas { // what is not used any more is not kept alive for ever
		t.numbers.Clear()
		t.pointed = 1
	}
	t.numbers.Store(s, n)
	full = (len(t.alike) > maxSchemas*3/4 || t.bytes > maxSchemaBytes*3/4) && t.isOldLocked()
	return n, true, full
}

// isOldLocked reports true the first time.
func (t *told) isOldLocked() bool {
	was := t.old
	t.old = true
	return !was
}

func appendColumns(dst []byte, s *row.Schema) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s.Columns)))
	for _, name := range s.Columns {
		dst = appendText(dst, name)
	}
	return dst
}

// dictionary is the client end's: what it has been told of, in order. Only its
// reader adds; who was given a part of schemas may read that part for ever.
type dictionary struct {
	schemas []*row.Schema
	bytes   int
}

// learn adds the schema of a frame.
func (d *dictionary) learn(body []byte) error {
	d.bytes += len(body)
	if len(d.schemas) == maxSchemas || d.bytes > maxSchemaBytes {
		return errMalformed
	}
	c := cursor{rest: body}
	s := &row.Schema{Columns: make([]string, c.count(1, maxColumns))}
	for i := range s.Columns {
		s.Columns[i] = string(c.text(maxColumn))
	}
	d.schemas = append(d.schemas, s)
	return c.end()
}
