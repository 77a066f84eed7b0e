package row

import "encoding/binary"

// Kind says what a column's text is.
type Kind uint8

// The kinds of a column's value.
const (
	Null    Kind = iota // SQL NULL: no text
	Text                // character data
	Number              // a valid JSON number
	Bool                // "true" or "false"
	Bytes               // binary data, as it is
	JSON                // a valid JSON document
	Unknown             // not known here (an unchanged TOAST value, say): never stored
)

// Field is one named column of a row, as a source or a change brings it.
type Field struct {
	Name  string
	Kind  Kind
	Value []byte
}

// Schema is the columns of a value, in order. Immutable.
type Schema struct {
	Columns []string
}

// Row is one row's value. It is immutable and may be shared; the zero Row
// means that there is no such row.
type Row struct {
	schema *Schema
	data   []byte // per column: kind, then for all but Null uvarint length and text
}

// Encode makes the Row of one value of s, taking fields in the order of its
// columns. It reports false, and no Row, if a column is missing, in another
// order, or Unknown.
func Encode(s *Schema, fields []Field) (Row, bool) {
	if s == nil || len(fields) != len(s.Columns) {
		return Row{}, false
	}
	size := 0
	for i := range fields {
		if fields[i].Kind == Unknown || fields[i].Name != s.Columns[i] {
			return Row{}, false
		}
		size += 1 + binary.MaxVarintLen32 + len(fields[i].Value)
	}
	data := make([]byte, 0, size)
	for i := range fields {
		data = append(data, byte(fields[i].Kind))
		if fields[i].Kind == Null {
			continue
		}
		data = binary.AppendUvarint(data, uint64(len(fields[i].Value)))
		data = append(data, fields[i].Value...)
	}
	return Row{schema: s, data: append(make([]byte, 0, len(data)), data...)}, true
}

// Exists reports whether there is a row.
func (r Row) Exists() bool { return r.schema != nil }

// Size is the number of bytes the row's value takes.
func (r Row) Size() int { return len(r.data) }

// Schema returns the columns of the row; nil if there is no row.
func (r Row) Schema() *Schema { return r.schema }

// Equal reports whether two rows have the same columns and the same bytes.
func (r Row) Equal(o Row) bool {
	if r.Exists() != o.Exists() || string(r.data) != string(o.data) {
		return false
	}
	if r.schema == o.schema {
		return true
	}
	if len(r.schema.Columns) != len(o.schema.Columns) {
		return false
	}
	for i, name := range r.schema.Columns {
		if o.schema.Columns[i] != name {
			return false
		}
	}
	return true
}

// Column returns the kind and text of column i. The text is shared with the
// row and must not be changed.
func (r Row) Column(i int) (Kind, []byte) {
	for c := range r.Columns() {
		if i == 0 {
			return c.Kind, c.Value
		}
		i--
	}
	return Null, nil
}

// Lookup returns the kind and text of the column of that name, and whether
// there is one.
func (r Row) Lookup(name []byte) (Kind, []byte, bool) {
	for c := range r.Columns() {
		if c.Name == string(name) {
			return c.Kind, c.Value, true
		}
	}
	return Null, nil, false
}

// Columns walks the columns in order. The values are shared with the row.
func (r Row) Columns() func(yield func(Field) bool) {
	return func(yield func(Field) bool) {
		if r.schema == nil {
			return
		}
		rest := r.data
		for _, name := range r.schema.Columns {
			f := Field{Name: name, Kind: Kind(rest[0])}
			rest = rest[1:]
			if f.Kind != Null {
				n, w := binary.Uvarint(rest)
				f.Value = rest[w : w+int(n) : w+int(n)]
				rest = rest[w+int(n):]
			}
			if !yield(f) {
				return
			}
		}
	}
}
