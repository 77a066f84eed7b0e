package postgres

import (
	"bytes"
	"encoding/hex"
	"unicode/utf8"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// bindKey returns the arguments that select the row of a key, as texts.
func bindKey(key proxy.Key) ([][]byte, error) {
	m := key.UseCase.Mapping
	parts, err := m.Parts(key.Text)
	if err != nil {
		return nil, &proxy.BadKeyError{Reason: err.Error()}
	}
	for i, p := range parts {
		switch m.Columns[i].Kind {
		case row.KeyBytes:
			parts[i] = hexText(p)
		case row.KeyText:
			// One such key would make the server refuse the statement that
			// asks for many.
			if !utf8.Valid(p) || bytes.IndexByte(p, 0) >= 0 {
				return nil, &proxy.BadKeyError{Reason: "a text in PostgreSQL is UTF-8 without zero bytes"}
			}
		}
	}
	return parts, nil
}

func hexText(b []byte) []byte {
	return hex.AppendEncode([]byte(`\x`), b)
}

// array is a text of an array of texts, as PostgreSQL reads it.
func array(elements [][]byte) []byte {
	out := []byte{'{'}
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		for _, b := range e {
			if b == '"' || b == '\\' {
				out = append(out, '\\')
			}
			out = append(out, b)
		}
		out = append(out, '"')
	}
	return append(out, '}')
}

// bindValue is the argument that writes a field to a column: a text that the
// server reads by the column's type, and bytes in the form in which a bytea
// reads them.
func bindValue(c *Column, f row.Field) []byte {
	switch {
	case f.Kind == row.Null:
		return nil
	case c.Type == typeBytea:
		return hexText(f.Value)
	}
	return append([]byte{}, f.Value...) // nil would be NULL
}
