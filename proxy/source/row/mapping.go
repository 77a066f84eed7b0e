package row

import (
	"bytes"
	"fmt"
	"sync/atomic"
)

// Shape says what a key's value is.
type Shape uint8

// The value shapes.
const (
	WholeRow  Shape = iota // GET gives the row as JSON, the hash commands its columns
	OneColumn              // GET gives one column's bytes
)

// Spec is a use case as it is configured. A source completes it into a
// Mapping from its catalog.
type Spec struct {
	Name     string   // the key prefix
	Table    string   // the table's name
	Key      []string // key columns, in the order of the parts; empty: the primary key
	Column   string   // the column GET gives; empty: the whole row
	ReadOnly bool     // refuse writes
	Replica  bool     // read a replica: pinned entries, and no read-your-writes
}

// Mapping is a use case completed by its source.
type Mapping struct {
	Spec
	Columns []KeyColumn // the key's columns with their kinds
	Primary bool        // the key is the primary key, so its changes come from one partition

	generation atomic.Uint64
	learned    atomic.Pointer[learned]
}

// learned is a schema and the generation of the catalog it was read in.
type learned struct {
	generation uint64
	schema     *Schema
}

// Shape returns what the value is.
func (m *Mapping) Shape() Shape {
	if m.Column != "" {
		return OneColumn
	}
	return WholeRow
}

// Schema returns the columns of the value, or nil while they are not known
// (after Forget, until the source has read its catalog again).
func (m *Mapping) Schema() *Schema {
	if l := m.learned.Load(); l != nil && l.generation == m.generation.Load() {
		return l.schema
	}
	return nil
}

// Generation counts the calls of Forget. A source reads it before its catalog
// and gives it to Learn after.
func (m *Mapping) Generation() uint64 { return m.generation.Load() }

// Forget says that the table's columns may have changed.
func (m *Mapping) Forget() { m.generation.Add(1) }

// Learn publishes the columns that a catalog read begun at that generation
// found. If Forget was called since, what it found may be old, and the schema
// stays unknown.
func (m *Mapping) Learn(generation uint64, s *Schema) {
	m.learned.Store(&learned{generation: generation, schema: s})
}

// Check reports why text is not the accepted spelling of a key of this use
// case. text begins with the use case's name and a colon.
func (m *Mapping) Check(text []byte) error {
	rest := text[len(m.Name)+1:]
	for i, col := range m.Columns {
		part := rest
		if colon := bytes.IndexByte(rest, ':'); colon >= 0 {
			part, rest = rest[:colon], rest[colon+1:]
			if i == len(m.Columns)-1 {
				return m.partsError()
			}
		} else if i < len(m.Columns)-1 {
			return m.partsError()
		}
		if err := checkPart(col.Kind, part); err != nil {
			return fmt.Errorf("part %d (%s): %w", i+1, col.Name, err)
		}
	}
	return nil
}

func (m *Mapping) partsError() error {
	want := m.Name
	for _, c := range m.Columns {
		want += ":<" + c.Name + ">"
	}
	return fmt.Errorf(`a key is spelled %s, with ":" inside a part as %%3A`, want)
}

// Parts returns the values of the key's columns. text has passed Check.
func (m *Mapping) Parts(text []byte) ([][]byte, error) {
	raw := bytes.Split(text[len(m.Name)+1:], []byte(":"))
	for i, p := range raw {
		var err error
		if raw[i], err = decodePart(p); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// Key returns the key of a row, found by its key columns among fields. It
// reports false if one is missing or Unknown, or has no spelling (such a row
// has no key, so no entry).
func (m *Mapping) Key(fields []Field) ([]byte, bool) {
	return m.AppendKey(make([]byte, 0, 64), fields)
}

// AppendKey is Key into a buffer of the caller's.
func (m *Mapping) AppendKey(text []byte, fields []Field) ([]byte, bool) {
	text = append(text, m.Name...)
	for _, col := range m.Columns {
		f := find(fields, col.Name)
		if f == nil || !col.Kind.spells(f) {
			return nil, false
		}
		text = AppendPart(append(text, ':'), f.Value)
	}
	return text, true
}

// Row returns the value of a row. It reports false if the fields do not hold
// every column of the value, or the schema is not known.
func (m *Mapping) Row(fields []Field) (Row, bool) {
	s := m.Schema()
	if s == nil {
		return Row{}, false
	}
	picked := make([]Field, 0, len(s.Columns))
	for i, name := range s.Columns {
		if i < len(fields) && fields[i].Name == name { // the order a whole row usually comes in
			picked = append(picked, fields[i])
			continue
		}
		f := find(fields, name)
		if f == nil {
			return Row{}, false
		}
		picked = append(picked, *f)
	}
	return Encode(s, picked)
}

func find(fields []Field, name string) *Field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}
