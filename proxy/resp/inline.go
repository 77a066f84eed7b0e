package resp

import "bytes"

// inline reads a request that is one line of words, as a person types it.
func (p *Parser) inline(buf []byte) (args [][]byte, size int, err error) {
	most := p.limits.InlineBytes
	if p.stranger {
		most = min(most, p.limits.StrangerInlineBytes)
	}
	i := bytes.IndexByte(buf[p.seen:], '\n')
	if i < 0 {
		p.seen = len(buf)
		if len(buf) > most {
			return nil, 0, errInlineLong
		}
		return nil, 0, nil
	}
	end := p.seen + i
	p.seen = 0
	if end > most {
		return nil, 0, errInlineLong
	}
	line := bytes.TrimSuffix(buf[:end], []byte("\r"))
	if bytes.IndexByte(line, 0) >= 0 {
		return nil, 0, errNUL
	}
	p.begin(0, 0)
	for {
		line = bytes.TrimLeft(line, " \t\n\v\f\r")
		if len(line) == 0 {
			return p.args, end + 1, nil
		}
		var word []byte
		if word, line, err = nextWord(line); err != nil {
			return nil, 0, err
		}
		p.args = append(p.args, word)
	}
}

// nextWord splits the first word off a line, by the rules of Redis: quotes may
// stand anywhere in a word, and a closing quote ends it.
func nextWord(line []byte) (word, rest []byte, err error) {
	end := bytes.IndexAny(line, " \n\r\t\"'")
	switch {
	case end < 0:
		return line, nil, nil
	case line[end] != '"' && line[end] != '\'':
		return line[:end:end], line[end:], nil
	}
	quote := line[end]
	word, rest, err = unquote(append([]byte{}, line[:end]...), line[end+1:], quote)
	if err == nil && len(rest) > 0 && bytes.IndexByte([]byte(" \t\n\v\f\r"), rest[0]) < 0 {
		err = errQuotes
	}
	return word, rest, err
}

// unquote appends to word what stands before the closing quote.
func unquote(word, s []byte, quote byte) (_, rest []byte, err error) {
	for len(s) > 0 {
		switch {
		case s[0] == quote:
			return word, s[1:], nil
		case s[0] != '\\' || len(s) == 1:
			word, s = append(word, s[0]), s[1:]
		case quote == '\'': // only the quote itself can be escaped
			if s[1] == '\'' {
				s = s[1:]
			}
			word, s = append(word, s[0]), s[1:]
		case s[1] == 'x' && len(s) >= 4 && isHex(s[2]) && isHex(s[3]):
			word, s = append(word, unhex(s[2])<<4|unhex(s[3])), s[4:]
		default:
			word, s = append(word, unescape(s[1])), s[2:]
		}
	}
	return nil, nil, errQuotes
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}
