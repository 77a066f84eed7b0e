package row

import (
	"bytes"
	"errors"
	"fmt"
)

// KeyKind says how a key column is spelled.
type KeyKind uint8

// The key kinds. Only types whose every value has one spelling are here.
const (
	KeyText  KeyKind = iota // the text itself
	KeyInt                  // decimal, no leading zeros, no plus sign, within 64 bits
	KeyBytes                // the bytes themselves
	KeyUUID                 // 8-4-4-4-12 hexadecimal digits in lower case
)

// KeyColumn is one column of a key.
type KeyColumn struct {
	Name string
	Kind KeyKind
}

// spells reports whether a column's value has a spelling as a part of this
// kind. Bytes are not the text that looks like them: a source that lets a
// column hold both has two rows, and one key may name only one.
func (k KeyKind) spells(f *Field) bool {
	switch f.Kind {
	case Unknown, Null:
		return false
	case Bytes:
		return k == KeyBytes
	}
	return k == KeyText || k == KeyInt && checkInt(f.Value) == nil || k == KeyUUID && checkUUID(f.Value) == nil
}

// AppendPart appends one part in its only spelling.
func AppendPart(dst, part []byte) []byte {
	for _, b := range part {
		switch b {
		case ':':
			dst = append(dst, "%3A"...)
		case '%':
			dst = append(dst, "%25"...)
		default:
			dst = append(dst, b)
		}
	}
	return dst
}

var errEncoding = errors.New(`inside a part only ":" and "%" are encoded, as %3A and %25`)

// decodePart undoes AppendPart; it shares p where nothing is encoded.
func decodePart(p []byte) ([]byte, error) {
	if bytes.IndexByte(p, '%') < 0 {
		return p, nil
	}
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		if p[0] != '%' {
			out, p = append(out, p[0]), p[1:]
			continue
		}
		switch {
		case bytes.HasPrefix(p, []byte("%3A")):
			out = append(out, ':')
		case bytes.HasPrefix(p, []byte("%25")):
			out = append(out, '%')
		default:
			return nil, errEncoding
		}
		p = p[3:]
	}
	return out, nil
}

// checkPart reports why a part as it stands in a key is not the accepted
// spelling of a value of kind k.
func checkPart(k KeyKind, p []byte) error {
	switch k {
	case KeyInt:
		return checkInt(p)
	case KeyUUID:
		return checkUUID(p)
	}
	for i := bytes.IndexByte(p, '%'); i >= 0; {
		if !bytes.HasPrefix(p[i:], []byte("%3A")) && !bytes.HasPrefix(p[i:], []byte("%25")) {
			return errEncoding
		}
		p = p[i+3:]
		i = bytes.IndexByte(p, '%')
	}
	return nil
}

// checkInt accepts what strconv.FormatInt writes, without allocating.
func checkInt(p []byte) error {
	digits := p
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || (digits[0] == '0' && len(p) > 1) {
		return fmt.Errorf("%q is not an integer in its shortest decimal form", p)
	}
	for _, b := range digits {
		if b < '0' || b > '9' {
			return fmt.Errorf("%q is not an integer in its shortest decimal form", p)
		}
	}
	limit := "9223372036854775807"
	if p[0] == '-' {
		limit = "9223372036854775808"
	}
	if len(digits) > len(limit) || len(digits) == len(limit) && string(digits) > limit {
		return fmt.Errorf("%q does not fit into 64 bits", p)
	}
	return nil
}

// checkUUID accepts the one form that databases write; they read several.
func checkUUID(p []byte) error {
	const form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	ok := len(p) == len(form)
	for i := 0; ok && i < len(form); i++ {
		if form[i] == '-' {
			ok = p[i] == '-'
		} else {
			ok = '0' <= p[i] && p[i] <= '9' || 'a' <= p[i] && p[i] <= 'f'
		}
	}
	if !ok {
		return fmt.Errorf("%q is not a UUID as 8-4-4-4-12 hexadecimal digits in lower case", p)
	}
	return nil
}
