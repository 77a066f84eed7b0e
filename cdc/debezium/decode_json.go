package debezium

import (
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deep values may lie in each other. A connector's lie ten
// deep, with their schema.
const maxDepth = 64

// object walks the members of a JSON object. It looks at each byte once, and
// copies none: most of a record is not needed, and only has to be passed. It
// accepts what RFC 8259 does.
type object struct {
	rest  []byte // behind the last value
	begun bool
	bad   bool // it is no object, or no JSON

	name  []byte // of the current member, as it is written between the quotes
	value []byte // the current member's, as it is written
}

// objectOf returns a walk over raw, which has to be one object and nothing
// else.
func objectOf(raw []byte) object {
	rest := blank(raw)
	if len(rest) == 0 || rest[0] != '{' {
		return object{bad: true}
	}
	return object{rest: rest[1:]}
}

// next goes to the next member. At the end, and where the object is none, it
// returns false.
func (o *object) next() bool {
	rest := blank(o.rest)
	if o.bad || len(rest) == 0 {
		return o.fail()
	}
	if rest[0] == '}' {
		o.rest, o.bad = nil, len(blank(rest[1:])) > 0
		return false
	}
	if o.begun {
		if rest[0] != ',' {
			return o.fail()
		}
		rest = blank(rest[1:])
	}
	o.begun = true
	n := stringLen(rest)
	if n == 0 {
		return o.fail()
	}
	o.name, rest = rest[1:n-1], blank(rest[n:])
	if len(rest) == 0 || rest[0] != ':' {
		return o.fail()
	}
	rest = blank(rest[1:])
	n = valueLen(rest, maxDepth)
	o.value, o.rest = rest[:n:n], rest[n:]
	return n > 0 || o.fail()
}

// fail ends the walk. At the end of a whole object nothing is left, and that is
// no failure.
func (o *object) fail() bool {
	o.bad = o.bad || o.rest != nil
	o.rest = nil
	return false
}

// blank cuts off white space.
func blank(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// valueLen is the length of the value that b begins with; 0: it is none.
func valueLen(b []byte, depth int) int {
	if len(b) == 0 || depth == 0 {
		return 0
	}
	switch b[0] {
	case '"':
		return stringLen(b)
	case '{', '[':
		return compositeLen(b, depth)
	case 't':
		return literalLen(b, "true")
	case 'f':
		return literalLen(b, "false")
	case 'n':
		return literalLen(b, "null")
	}
	return numberLen(b)
}

func literalLen(b []byte, word string) int {
	if len(b) < len(word) || string(b[:len(word)]) != word {
		return 0
	}
	return len(word)
}

// compositeLen is the length of an object or an array.
func compositeLen(b []byte, depth int) int {
	named, end := b[0] == '{', byte(']')
	if named {
		end = '}'
	}
	rest := blank(b[1:])
	if len(rest) > 0 && rest[0] == end {
		return len(b) - len(rest) + 1
	}
	for {
		if named {
			n := stringLen(rest)
			if rest = blank(rest[n:]); n == 0 || len(rest) == 0 || rest[0] != ':' {
				return 0
			}
			rest = blank(rest[1:])
		}
		n := valueLen(rest, depth-1)
		if rest = blank(rest[n:]); n == 0 || len(rest) == 0 {
			return 0
		}
		switch rest[0] {
		case end:
			return len(b) - len(rest) + 1
		case ',':
			rest = blank(rest[1:])
		default:
			return 0
		}
	}
}

// stringLen is the length of the string that b begins with, quotes included.
func stringLen(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return 0
	}
	for i := 1; i < len(b); i++ {
		c := b[i]
		if c > '"' && c != '\\' || c == ' ' || c == '!' { // nearly always
			continue
		}
		if c == '"' {
			return i + 1
		}
		n := 0
		if c == '\\' {
			n = escapeLen(b[i:])
		}
		if n == 0 {
			return 0
		}
		i += n - 1
	}
	return 0
}

func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// numberLen is the length of a number (RFC 8259, section 6).
func numberLen(b []byte) int {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	whole := digits(b[i:])
	if whole == 0 || whole > 1 && b[i] == '0' {
		return 0
	}
	i += whole
	if i < len(b) && b[i] == '.' {
		n := digits(b[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n := digits(b[i:])
		if n == 0 {
			return 0
		}
		i += n
	}
	return i
}

func digits(b []byte) (n int) {
	for n < len(b) && '0' <= b[n] && b[n] <= '9' {
		n++
	}
	return n
}

func isString(raw []byte) bool { return len(raw) > 1 && raw[0] == '"' }

func isNull(raw []byte) bool { return string(raw) == "null" }

// plain returns what a string says if it says it as it is written.
func plain(raw []byte) (text []byte, ok bool) {
	if !isString(raw) {
		return nil, false
	}
	text = raw[1 : len(raw)-1]
	for _, c := range text {
		if c == '\\' || c >= utf8.RuneSelf {
			return nil, false
		}
	}
	return text, true
}

// appendText appends what a string says. It reports false if that is no text:
// half of a surrogate pair, or bytes that are not UTF-8.
func appendText(dst, raw []byte) ([]byte, bool) {
	for b := raw[1 : len(raw)-1]; len(b) > 0; {
		if b[0] != '\\' {
			r, n := utf8.DecodeRune(b)
			if r == utf8.RuneError && n == 1 {
				return dst, false
			}
			dst, b = append(dst, b[:n]...), b[n:]
			continue
		}
		if b[1] != 'u' {
			dst, b = append(dst, unescaped(b[1])), b[2:]
			continue
		}
		r, _ := hex4(b[2:])
		b = b[6:]
		if utf16.IsSurrogate(r) {
			if len(b) == 0 || b[0] != '\\' || escapeLen(b) != 6 {
				return dst, false
			}
			low, _ := hex4(b[2:])
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return dst, false
			}
			b = b[6:]
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, true
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
