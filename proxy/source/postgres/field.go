package postgres

import (
	"bytes"
	"encoding/hex"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// The types that the codec and keys tell apart, by their fixed numbers in
// pg_type.
const (
	typeBool    = 16
	typeBytea   = 17
	typeInt8    = 20
	typeInt2    = 21
	typeInt4    = 23
	typeText    = 25
	typeJSON    = 114
	typeFloat4  = 700
	typeFloat8  = 701
	typeVarchar = 1043
	typeNumeric = 1700
	typeUUID    = 2950
	typeJSONB   = 3802
)

// Field gives a value of the column the form in which fills and refills hold
// it. text is the value as PostgreSQL writes it under [Settings], nil for
// NULL; the Field may share it. Numbers that JSON does not have (NaN and the
// infinities) are texts; what a type's text cannot be is Unknown.
func (c *Column) Field(text []byte) row.Field {
	f := row.Field{Name: c.Name, Value: text}
	if text == nil {
		f.Kind = row.Null
		return f
	}
	switch c.Type {
	case typeInt2, typeInt4, typeInt8, typeFloat4, typeFloat8, typeNumeric:
		f.Kind = row.Text
		if isNumber(text) {
			f.Kind = row.Number
		}
	case typeBool:
		f.Kind, f.Value = boolean(text)
	case typeBytea:
		f.Kind, f.Value = binary(text)
	case typeJSON, typeJSONB:
		f.Kind = row.JSON
	default:
		f.Kind = row.Text
	}
	return f
}

// isNumber reports whether text is a number as JSON has them (RFC 8259,
// section 6).
func isNumber(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("-"))
	whole, rest := digits(text)
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if after, ok := bytes.CutPrefix(rest, []byte(".")); ok {
		var fraction []byte
		if fraction, rest = digits(after); len(fraction) == 0 {
			return false
		}
	}
	if len(rest) == 0 {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	exponent, rest := digits(rest)
	return len(exponent) > 0 && len(rest) == 0
}

// digits splits off the decimal digits that text begins with.
func digits(text []byte) (digits, rest []byte) {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return text[:n], text[n:]
}

func boolean(text []byte) (row.Kind, []byte) {
	switch string(text) {
	case "t":
		return row.Bool, []byte("true")
	case "f":
		return row.Bool, []byte("false")
	}
	return row.Unknown, nil
}

// binary decodes bytea_output = hex.
func binary(text []byte) (row.Kind, []byte) {
	pairs, ok := bytes.CutPrefix(text, []byte(`\x`))
	if !ok {
		return row.Unknown, nil
	}
	value := make([]byte, hex.DecodedLen(len(pairs)))
	if _, err := hex.Decode(value, pairs); err != nil {
		return row.Unknown, nil
	}
	return row.Bytes, value
}
