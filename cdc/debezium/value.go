package debezium

import (
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"strings"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// placeholder returns what stands in the place of a value that the connector
// does not have: as text, and, encoded like them, in the place of bytes. What
// begins with "hex:" is given as hexadecimal digits.
func placeholder(setting string) string {
	if digits, ok := strings.CutPrefix(setting, "hex:"); ok {
		if text, err := hex.DecodeString(digits); err == nil {
			return string(text)
		}
	}
	return setting
}

// field gives a value of a key's column the form in which a fill would hold
// it, byte for byte, or says why it cannot. Of a value that the connector does
// not have, nothing is known; nor of NULL, which no key's column may be: it is
// what stands for columns that the log does not tell of an old row.
func (d *Decoder) field(c row.KeyColumn, raw []byte, as form) (row.Field, *DecodeError) {
	f := row.Field{Name: c.Name, Kind: row.Unknown}
	if isNull(raw) {
		return f, nil
	}
	var fault *DecodeError
	switch c.Kind {
	case row.KeyInt:
		f.Kind, f.Value, fault = d.integer(raw, as)
	case row.KeyBytes:
		f.Kind, f.Value, fault = d.bytes(raw, as)
	default:
		f.Kind, f.Value, fault = d.string(raw)
		if fault == nil && f.Kind == row.Text && c.Kind == row.KeyUUID && !isUUID(f.Value) {
			fault = &DecodeError{Reason: "is no UUID as PostgreSQL writes them", Mend: "let no transform or converter change it"}
		}
	}
	if fault != nil {
		fault.Reason = "key column " + c.Name + " " + fault.Reason
		return f, fault
	}
	return f, nil
}

// integer decodes a whole number. One that was a floating-point number on its
// way may have become another.
func (d *Decoder) integer(raw []byte, as form) (row.Kind, []byte, *DecodeError) {
	if isInteger(raw) {
		return row.Number, raw, nil
	}
	if text, ok := plain(raw); ok {
		switch {
		case as == formOther && isInteger(text):
			return row.Number, text, nil
		case as == formInteger:
			if value, ok := d.decoded(base64.StdEncoding, text); ok && len(value) > 0 {
				return row.Number, d.keep(bigEndian(value).Append(nil, 10)), nil
			}
		}
	}
	return row.Unknown, nil, &DecodeError{
		Reason: "is not a whole number in digits",
		Mend:   "set decimal.handling.mode=string for the connector and schemas.enable=true for value.converter and key.converter",
	}
}

// bigEndian is a number in two's complement, as Java's BigInteger writes it.
func bigEndian(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// isInteger reports whether text is a whole number in its shortest form.
func isInteger(text []byte) bool {
	n := text
	if len(n) > 1 && n[0] == '-' && n[1] != '0' {
		n = n[1:]
	}
	return len(n) > 0 && digits(n) == len(n) && (n[0] != '0' || len(n) == 1)
}

func (d *Decoder) string(raw []byte) (row.Kind, []byte, *DecodeError) {
	if !isString(raw) {
		return row.Unknown, nil, &DecodeError{Reason: "is not a string", Mend: "let no transform or converter change it"}
	}
	text, ok := d.textOf(raw)
	switch {
	case !ok:
		return row.Unknown, nil, &DecodeError{Reason: "is not UTF-8", Mend: "let no transform or converter change it"}
	case string(text) == d.unavailable:
		return row.Unknown, nil, nil
	}
	return row.Text, text, nil
}

// bytes decodes bytes, which are base64 of one alphabet or the other, or
// hexadecimal. With a schema that calls them bytes there is no doubt. Without
// one, what may be both cannot be told.
func (d *Decoder) bytes(raw []byte, as form) (row.Kind, []byte, *DecodeError) {
	text, ok := plain(raw)
	if !ok {
		return row.Unknown, nil, &DecodeError{Reason: "is not bytes in base64 or hexadecimal digits", Mend: "set binary.handling.mode=bytes for the connector"}
	}
	if string(text) == d.unavailable {
		return row.Unknown, nil, nil
	}
	alphabet := base64.StdEncoding
	if as != formBytes && strings.ContainsAny(string(text), "-_") {
		alphabet = base64.URLEncoding
	}
	value, is64 := d.decoded(alphabet, text)
	is16 := false
	if as != formBytes {
		var pairs []byte
		pairs, is16 = d.pairs(text)
		switch {
		case is16 && is64 && len(text) > 0 && string(pairs) != d.unavailable:
			return row.Unknown, nil, &DecodeError{
				Reason: "may be base64 as well as hexadecimal digits",
				Mend:   "set binary.handling.mode=bytes for the connector and schemas.enable=true for value.converter and key.converter",
			}
		case is16:
			value = pairs
		}
	}
	switch {
	case !is64 && !is16:
		return row.Unknown, nil, &DecodeError{Reason: "is not bytes in base64 or hexadecimal digits", Mend: "set binary.handling.mode=bytes for the connector"}
	case string(value) == d.unavailable:
		return row.Unknown, nil, nil
	}
	return row.Bytes, value, nil
}

// decoded decodes base64 into memory of the message.
func (d *Decoder) decoded(e *base64.Encoding, text []byte) ([]byte, bool) {
	start := len(d.text)
	all, err := e.Strict().AppendDecode(d.text, text)
	if err != nil {
		return nil, false
	}
	d.text = all
	return all[start:len(all):len(all)], true
}

// pairs decodes hexadecimal digits into memory of the message.
func (d *Decoder) pairs(text []byte) ([]byte, bool) {
	start := len(d.text)
	all, err := hex.AppendDecode(d.text, text)
	if err != nil {
		return nil, false
	}
	d.text = all
	return all[start:len(all):len(all)], true
}

// textOf returns what a string says. It reports false if that is no text.
func (d *Decoder) textOf(raw []byte) ([]byte, bool) {
	if text, ok := plain(raw); ok {
		return text, true
	}
	start := len(d.text)
	all, ok := appendText(d.text, raw)
	if !ok {
		return nil, false
	}
	d.text = all
	return all[start:len(all):len(all)], true
}

func (d *Decoder) keep(text []byte) []byte {
	start := len(d.text)
	d.text = append(d.text, text...)
	return d.text[start:len(d.text):len(d.text)]
}

// isUUID reports whether text is a UUID in the one form that PostgreSQL writes.
func isUUID(text []byte) bool {
	if len(text) != 36 {
		return false
	}
	for i, b := range text {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (b == '-') || !dash && !('0' <= b && b <= '9' || 'a' <= b && b <= 'f') {
			return false
		}
	}
	return true
}
