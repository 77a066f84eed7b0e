package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
)

// value is the value of one field: a text, as it stands between its quotes, a
// whole number or a flag.
type value struct {
	kind     byte // 't', 'n' or 'f'
	raw      []byte
	size     uint64 // of a number, without its sign
	negative bool
	set      bool
}

// fields reads the rest of a line behind its kind: a JSON object without
// objects or lists in it and without blanks, which is what this package
// writes. Done by hand: ten million reads pass here.
func (d *Decoder) fields(rest []byte, field func(name []byte, v value) bool) error {
	d.odd = false
	for text := rest; ; {
		if string(text) == "}" {
			if d.odd {
				return fmt.Errorf("a field is of another type than it should be: %.200q", rest)
			}
			return nil
		}
		var ok bool
		if text, ok = bytes.CutPrefix(text, []byte(`,"`)); !ok {
			return fmt.Errorf("a field should begin: %.60q", text)
		}
		end := bytes.IndexByte(text, '"')
		if end < 0 || end+1 >= len(text) || text[end+1] != ':' {
			return fmt.Errorf("no name of a field: %.60q", text)
		}
		name := text[:end]
		v, after, ok := scan(text[end+2:])
		if !ok {
			return fmt.Errorf("no value of a field: %.60q", text)
		}
		if !field(name, v) {
			return fmt.Errorf("unknown field %q", name)
		}
		text = after
	}
}

// scan reads one value.
func scan(text []byte) (v value, rest []byte, ok bool) {
	if len(text) == 0 {
		return value{}, nil, false
	}
	if text[0] == '"' {
		end := quoteAt(text[1:])
		if end < 0 {
			return value{}, nil, false
		}
		return value{kind: 't', raw: text[1 : 1+end]}, text[end+2:], true
	}
	if rest, ok = bytes.CutPrefix(text, []byte("true")); ok {
		return value{kind: 'f', set: true}, rest, true
	}
	if rest, ok = bytes.CutPrefix(text, []byte("false")); ok {
		return value{kind: 'f'}, rest, true
	}
	return scanNumber(text)
}

func scanNumber(text []byte) (v value, rest []byte, ok bool) {
	v.kind = 'n'
	text, v.negative = bytes.CutPrefix(text, []byte("-"))
	i := 0
	for ; i < len(text) && '0' <= text[i] && text[i] <= '9'; i++ {
		digit := uint64(text[i] - '0')
		if v.size > (math.MaxUint64-digit)/10 {
			return value{}, nil, false
		}
		v.size = v.size*10 + digit
	}
	return v, text[i:], i > 0
}

// quoteAt returns where the text that begins here has its closing quote, or -1.
func quoteAt(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return -1
}

func (d *Decoder) text(v value) string {
	d.odd = d.odd || v.kind != 't'
	if known, ok := d.texts[string(v.raw)]; ok {
		return known
	}
	s := string(v.raw)
	if !plain(s) {
		quoted := append(append([]byte{'"'}, v.raw...), '"')
		if !utf8.ValidString(s) || json.Unmarshal(quoted, &s) != nil {
			d.odd = true
			return ""
		}
	}
	d.texts[string(v.raw)] = s
	return s
}

func (d *Decoder) count(v value) uint64 {
	d.odd = d.odd || v.kind != 'n' || v.negative
	return v.size
}

func (d *Decoder) number(v value) int64 {
	d.odd = d.odd || v.kind != 'n' || v.size > math.MaxInt64
	if v.negative {
		return -int64(v.size)
	}
	return int64(v.size)
}

func (d *Decoder) flag(v value) bool {
	d.odd = d.odd || v.kind != 'f'
	return v.set
}
