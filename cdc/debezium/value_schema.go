package debezium

import (
	"bytes"
	"encoding/json"
)

// form is how a column's values are written, as far as a schema says so.
type form uint8

const (
	formUntold  form = iota // there is no schema, or it does not know the column
	formBytes               // bytes, in base64
	formInteger             // a whole number as its bytes, in base64
	formOther
)

// described remembers the last schema of a table's records: it hardly ever
// changes, and is several times as long as what it describes.
type described struct {
	raw   []byte
	forms map[string]form
}

// of returns how a column is written by that schema of a row, or of an envelope
// around rows.
func (d *described) of(raw []byte, column string) form {
	if len(raw) == 0 || isNull(raw) {
		return formUntold
	}
	if !bytes.Equal(d.raw, raw) {
		d.raw, d.forms = append(d.raw[:0], raw...), formsOf(raw)
	}
	return d.forms[column]
}

// description is what Connect's JSON converter puts beside a value to describe it.
type description struct {
	Type       string
	Name       string
	Field      string
	Fields     []description
	Parameters struct{ Scale string }
}

func formsOf(raw []byte) map[string]form {
	var s description
	forms := map[string]form{}
	if json.Unmarshal(raw, &s) != nil {
		return forms
	}
	columns := s.Fields
	for _, part := range s.Fields {
		if (part.Field == "before" || part.Field == "after") && part.Type == "struct" {
			columns = part.Fields // the same in both
		}
	}
	for _, c := range columns {
		forms[c.Field] = c.form()
	}
	return forms
}

func (s *description) form() form {
	switch {
	case s.Type == "bytes" && s.Name == "":
		return formBytes
	case s.Type == "bytes" && s.Name == "org.apache.kafka.connect.data.Decimal" && s.Parameters.Scale == "0":
		return formInteger
	}
	return formOther
}
