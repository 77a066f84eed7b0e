package postgres

import (
	"bytes"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// maxImageBytes bounds the rows that go along: a record has to fit into the
// topic. A larger one makes its change a drop.
const maxImageBytes = 256 << 10

// changes makes a change of a row what is shipped: one change, or two where
// the row moves to another partition. It reports false if the row cannot be
// told from others.
func (f *follower) changes(m *rowChange, keysOnly bool) ([]relay.Change, bool) {
	if len(f.identity) == 0 || m.new != nil && len(m.new) != len(f.columns) || m.old != nil && len(m.old) != len(f.columns) {
		return nil, false
	}
	before, after := f.before(m), f.after(m)
	oldRow, newRow := f.row(before), f.row(after)
	switch {
	case m.op == kindInsert && newRow != nil:
		return []relay.Change{f.change(event.Insert, newRow, nil, f.image(after, keysOnly))}, true
	case m.op == kindDelete && oldRow != nil:
		return []relay.Change{f.change(event.Delete, oldRow, f.pick(before), nil)}, true
	case m.op != kindUpdate || oldRow == nil || newRow == nil:
		return nil, false
	case bytes.Equal(oldRow, newRow):
		return []relay.Change{f.change(event.Update, newRow, f.pick(before), f.image(after, keysOnly))}, true
	}
	return []relay.Change{
		f.change(event.Delete, oldRow, f.pick(before), nil),
		f.change(event.Insert, newRow, nil, f.image(after, keysOnly)),
	}, true
}

func (f *follower) change(op event.Op, at []byte, before, after []row.Field) relay.Change {
	return relay.Change{Row: at, Change: event.Change{Table: f.table.name.String(), Op: op, Before: before, After: after}}
}

// before is the old row, as far as it is told, with a place for each column:
// all of it, or the identity's columns. An update that does not tell them has
// left them as they are.
func (f *follower) before(m *rowChange) []row.Field {
	if m.op == kindInsert {
		return nil
	}
	from := m.old
	if m.op == kindUpdate && m.old == nil {
		from = m.new
	}
	fields := make([]row.Field, len(f.columns))
	for i, c := range f.relation.columns {
		fields[i] = row.Field{Name: c.name, Kind: row.Unknown}
		if c.key || m.oldKind == 'O' {
			fields[i] = f.field(i, from[i])
		}
	}
	return fields
}

// after is the new row. What is unchanged and not told may be in the old one.
func (f *follower) after(m *rowChange) []row.Field {
	if m.op == kindDelete {
		return nil
	}
	fields := make([]row.Field, len(f.columns))
	for i, d := range m.new {
		told := m.oldKind == 'O' || m.oldKind == 'K' && f.relation.columns[i].key
		if d.kind == 'u' && told {
			d = m.old[i]
		}
		fields[i] = f.field(i, d)
	}
	return fields
}

func (f *follower) field(i int, d datum) row.Field {
	c := f.columns[i]
	switch {
	case c == nil || d.kind == 'u':
		return row.Field{Name: f.relation.columns[i].name, Kind: row.Unknown}
	case d.kind == 'n':
		return c.Field(nil)
	}
	return c.Field(d.text)
}

// row tells a row from all others of its table; nil if that is not known.
func (f *follower) row(fields []row.Field) []byte {
	if fields == nil {
		return nil
	}
	key := []byte{}
	for _, i := range f.identity {
		switch c := &fields[i]; c.Kind {
		case row.Unknown:
			return nil
		case row.Null:
			key = append(key, '-', ':')
		default:
			key = append(row.AppendPart(append(key, '='), c.Value), ':')
		}
	}
	return key
}

// pick returns the columns that keys are made of.
func (f *follower) pick(fields []row.Field) []row.Field {
	picked := make([]row.Field, 0, len(f.keys))
	for _, i := range f.keys {
		if fields[i].Kind != row.Unknown {
			picked = append(picked, fields[i])
		}
	}
	return picked
}

// image is what of a new row goes along.
func (f *follower) image(fields []row.Field, keysOnly bool) []row.Field {
	size := 0
	for _, c := range fields {
		size += len(c.Value)
	}
	if keysOnly || size > maxImageBytes {
		return f.pick(fields)
	}
	return fields
}
