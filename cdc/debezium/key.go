package debezium

import (
	"bytes"
	"slices"
	"strings"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// table is what a table is to the cache.
type table struct {
	name    string          // as the catalog spells it
	columns []row.KeyColumn // of the keys of all use cases; none: it is not mapped
	several bool            // more than one mapped table may be meant
	mark    bool            // its rows are checkpoints

	value, key described
}

// maxTables bounds what is remembered of the tables that records name.
const maxTables = 4096

// tableOf finds the table that a record is of, or nil where it does not say.
func (d *Decoder) tableOf(s *source) *table {
	space := s.space()
	if !isString(s.table) || space != nil && !isString(space) {
		return nil
	}
	d.name = append(append(append(d.name[:0], space...), 0), s.table...)
	if t := d.tables[string(d.name)]; t != nil {
		return t
	}
	t := d.find(space, s.table)
	if t == nil {
		return nil
	}
	if len(d.tables) >= maxTables {
		clear(d.tables)
	}
	d.tables[string(d.name)] = t
	return t
}

func (d *Decoder) find(space, name []byte) *table {
	last, ok := d.textOf(name)
	if !ok {
		return nil
	}
	spelled := spell(string(last))
	if space == nil {
		return d.findAnywhere(spelled)
	}
	first, ok := d.textOf(space)
	if !ok {
		return nil
	}
	if string(first) != "public" {
		spelled = spell(string(first)) + "." + spelled
	}
	t := &table{name: spelled, mark: isCheckpoint(spelled, d.options.CheckpointTable)}
	if d.options.Catalog != nil {
		for _, u := range d.options.Catalog.OnTable(spelled) {
			t.learn(u.Mapping)
		}
	}
	return t
}

// findAnywhere finds the table of a record that does not say the schema: it is
// any of that name. A change that is of another one drops an entry too many.
func (d *Decoder) findAnywhere(spelled string) *table {
	first := d.options.CheckpointTable
	t := &table{name: spelled, mark: isCheckpoint(spelled, first[strings.LastIndexByte(first, '.')+1:])}
	if d.options.Catalog == nil {
		return t
	}
	for _, u := range d.options.Catalog.All() {
		if name := u.Mapping.Table; name == spelled || strings.HasSuffix(name, "."+spelled) {
			t.several = t.several || t.columns != nil && t.name != name
			t.name = name
			t.learn(u.Mapping)
		}
	}
	return t
}

// learn adds the columns of a use case's key.
func (t *table) learn(m *row.Mapping) {
	for _, c := range m.Columns {
		if !slices.Contains(t.columns, c) {
			t.columns = append(t.columns, c)
		}
	}
}

func isCheckpoint(name, first string) bool { return first != "" && strings.HasPrefix(name, first) }

// spell is how the catalog spells one part of a table's name: in double quotes
// where it has to be, and public is left out.
func spell(part string) string {
	if strings.ContainsAny(part, `."`) {
		return `"` + strings.ReplaceAll(part, `"`, `""`) + `"`
	}
	return part
}

// columns reads the columns of keys out of a row, into dst: a field for each,
// in the order of the table's columns. Those that the row does not have are not
// known, and missing is the first of them.
func (d *Decoder) columns(dst []row.Field, t *table, raw []byte, s *described, schema []byte) (fields []row.Field, missing string, fault *DecodeError) {
	for _, c := range t.columns {
		dst = append(dst, row.Field{Name: c.Name, Kind: row.Unknown})
	}
	var found uint64
	o := objectOf(raw)
	for o.next() {
		i := d.index(t, o.name)
		if i < 0 {
			continue
		}
		as := formUntold
		if t.columns[i].Kind != row.KeyText && isString(o.value) {
			as = s.of(schema, t.columns[i].Name)
		}
		if dst[i], fault = d.field(t.columns[i], o.value, as); fault != nil {
			return dst, "", fault
		}
		found |= 1 << min(i, 63)
	}
	if o.bad {
		return dst, "", &DecodeError{Reason: "a row is not a JSON object", Mend: mendConverter}
	}
	for i, c := range t.columns {
		if found&(1<<min(i, 63)) == 0 {
			return dst, c.Name, nil
		}
	}
	return dst, "", nil
}

// index finds a column by its name as a record has it.
func (d *Decoder) index(t *table, name []byte) int {
	for i := range t.columns {
		if t.columns[i].Name == string(name) {
			return i
		}
	}
	if bytes.IndexByte(name, '\\') < 0 {
		return -1
	}
	text, ok := appendText(nil, append(append([]byte{'"'}, name...), '"'))
	if !ok || bytes.Equal(text, name) {
		return -1
	}
	return slices.IndexFunc(t.columns, func(c row.KeyColumn) bool { return c.Name == string(text) })
}

// keyOf reads the columns that a record's key has. One that is not an object
// (other converters write text) tells none.
func (d *Decoder) keyOf(t *table, key []byte) ([]row.Field, *DecodeError) {
	var r record
	if !r.read(key) {
		r.whole = []byte("{}")
	}
	schema, payload, _ := r.unwrap()
	if len(key) == 0 || isNull(payload) {
		return nil, &DecodeError{Reason: "the record has no key", Mend: "let no transform take the key away"}
	}
	fields, _, fault := d.columns(d.rows[2][:0], t, payload, &t.key, schema)
	d.rows[2] = fields
	return fields, fault
}

// contradicts names a column that a row and the record's key tell differently.
func contradicts(fields, key []row.Field) string {
	for i := range key {
		if key[i].Kind != row.Unknown && fields[i].Kind != row.Unknown && !bytes.Equal(key[i].Value, fields[i].Value) {
			return key[i].Name
		}
	}
	return ""
}
