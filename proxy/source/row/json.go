package row

import (
	"encoding/base64"
	"unicode/utf8"
)

// AppendJSON appends the row as one JSON object, columns in order: numbers,
// booleans and JSON columns as they are, text as a string, bytes as a string
// in standard base64, NULL as null. Bytes that are not UTF-8 become U+FFFD.
func (r Row) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	first := true
	for c := range r.Columns() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, []byte(c.Name)), ':')
		switch c.Kind {
		case Null, Unknown:
			dst = append(dst, "null"...)
		case Number, Bool, JSON:
			dst = append(dst, c.Value...)
		case Bytes:
			dst = append(dst, '"')
			dst = base64.StdEncoding.AppendEncode(dst, c.Value)
			dst = append(dst, '"')
		case Text:
			dst = appendString(dst, c.Value)
		}
	}
	return append(dst, '}')
}

const hex = "0123456789abcdef"

func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for len(s) > 0 {
		b := s[0]
		switch {
		case b == '"' || b == '\\':
			dst, s = append(dst, '\\', b), s[1:]
		case b >= 0x20 && b < utf8.RuneSelf:
			dst, s = append(dst, b), s[1:]
		case b < 0x20:
			dst, s = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15]), s[1:]
		default:
			r, n := utf8.DecodeRune(s)
			dst, s = utf8.AppendRune(dst, r), s[n:]
		}
	}
	return append(dst, '"')
}
