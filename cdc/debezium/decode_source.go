package debezium

import (
	"bytes"
	"strconv"

	"github.com/freshet-cache/freshet/proxy"
)

// source is where a change comes from, each part as it is written; nil: not
// told.
type source struct {
	connector, db, schema, table []byte
	tx, snapshot, origin         []byte
	ns, us, ms                   []byte // when it was committed
}

// sourceOf reads the block of that name in an envelope.
func sourceOf(raw []byte) (s source, ok bool) {
	o := objectOf(raw)
	for o.next() {
		s.set(o.name, o.value)
	}
	return s, !o.bad
}

// add takes a member that a transform has added to a row. Its name has two
// underscores in front, and may have the block's.
func (s *source) add(name, value []byte) {
	if rest, ok := bytes.CutPrefix(name, []byte("__")); ok {
		rest, block := bytes.CutPrefix(rest, []byte("source_"))
		if !block && bytes.HasPrefix(rest, []byte("ts_")) {
			return // when the connector saw it
		}
		s.set(rest, value)
	}
}

func (s *source) set(name, value []byte) {
	if isNull(value) {
		return
	}
	switch string(name) {
	case "connector":
		s.connector = value
	case "db":
		s.db = value
	case "schema":
		s.schema = value
	case "table":
		s.table = value
	case "txId":
		s.tx = value
	case "snapshot":
		s.snapshot = value
	case "origin":
		s.origin = value
	case "ts_ns":
		s.ns = value
	case "ts_us":
		s.us = value
	case "ts_ms":
		s.ms = value
	}
}

// space is what the table's name is unique in. PostgreSQL has schemas, and what
// does not say its schema is not found by the database's name.
func (s *source) space() []byte {
	if s.schema == nil && s.connector != nil && !s.postgres() {
		return s.db
	}
	return s.schema
}

// postgres reports whether it may be PostgreSQL, which who does not say which
// database it is from is taken for.
func (s *source) postgres() bool { return s.connector == nil || string(s.connector) == `"postgresql"` }

// transaction returns the transaction's id; 0: it has none that means anything
// to who can be asked.
func (s *source) transaction() uint64 {
	tx, err := strconv.ParseUint(string(s.tx), 10, 64)
	if err != nil || !s.postgres() {
		return 0
	}
	return tx
}

// commit returns when the change was committed. What was replicated from
// elsewhere has a time by the clock there, which says nothing here.
func (s *source) commit() proxy.Time {
	if s.origin != nil {
		return proxy.Never
	}
	for _, t := range []struct {
		raw  []byte
		unit int64
	}{{s.ns, 1}, {s.us, 1e3}, {s.ms, 1e6}} {
		if n := number(t.raw); n > 0 {
			return proxy.Time(n * t.unit)
		}
	}
	return proxy.Never
}

// whole reports whether a row that was read, and not changed, is one of a
// snapshot of its whole table: the first or the last of them at least, which
// are marked. Then whatever was missed before it counts as changed.
func (s *source) whole() bool {
	switch string(s.snapshot) {
	case `"true"`, "true", `"incremental"`:
		return false
	}
	return true
}
