package sqlite

import (
	"math"
	"strconv"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Field gives a value the form in which fills and refills hold it: integers
// and reals as numbers, reals in the shortest form that reads back the same
// and always with a point or an exponent, the infinities as the texts Inf and
// -Inf since JSON has no such numbers.
func Field(name string, value any) row.Field {
	f := row.Field{Name: name}
	switch v := value.(type) {
	case nil:
		f.Kind = row.Null
	case int64:
		f.Kind, f.Value = row.Number, strconv.AppendInt(nil, v, 10)
	case float64:
		f.Kind, f.Value = realText(v)
	case string:
		f.Kind, f.Value = row.Text, []byte(v)
	case []byte:
		f.Kind, f.Value = row.Bytes, v
	default: // the driver makes no other from a column that is read as an expression
		f.Kind = row.Unknown
	}
	return f
}

func realText(v float64) (row.Kind, []byte) {
	switch {
	case math.IsInf(v, 1):
		return row.Text, []byte("Inf")
	case math.IsInf(v, -1):
		return row.Text, []byte("-Inf")
	}
	text := strconv.AppendFloat(nil, v, 'g', -1, 64)
	for _, b := range text {
		if b == '.' || b == 'e' {
			return row.Number, text
		}
	}
	return row.Number, append(text, ".0"...)
}

// classes are the storage classes of the values that a key column of each kind
// can be found by. A column may hold others (a BLOB in a TEXT column): such a
// row has no key, or one key would name two rows.
var classes = [...]string{row.KeyText: "text", row.KeyInt: "integer", row.KeyBytes: "blob"}

// bindKey gives the part of a key the storage class of its column.
func bindKey(k row.KeyKind, part []byte) (any, error) {
	switch k {
	case row.KeyInt:
		return strconv.ParseInt(string(part), 10, 64)
	case row.KeyBytes:
		return append([]byte{}, part...), nil // nil would be NULL
	}
	return string(part), nil
}

// bindValue gives a value that is to be written the type its column prefers,
// so that it is read back as it was sent, or refuses it.
func bindValue(c *Column, f row.Field) (any, error) {
	if f.Kind == row.Null {
		return nil, nil
	}
	text := string(f.Value)
	switch c.Affinity {
	case Integer:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != text {
			return nil, &proxy.RejectedError{Reason: "column " + c.Name + " takes integers of 64 bits in decimal"}
		}
		return n, nil
	case Real:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) {
			return nil, &proxy.RejectedError{Reason: "column " + c.Name + " takes numbers"}
		}
		return v, nil
	case Blob:
		return append([]byte{}, f.Value...), nil
	}
	return text, nil
}
