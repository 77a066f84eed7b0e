package command

import "github.com/freshet-cache/freshet/proxy"

// maxPattern bounds a pattern, all of which may have to be looked at for each
// byte of a text. It is the longest key, with each byte behind a backslash.
const maxPattern = 2 * proxy.MaxKeyBytes

// matches reports whether text matches a pattern of Redis: * any bytes, ? one
// byte, [a-c] and [^a-c] one of a set, \x the byte x itself.
//
// Of several stars only the last is gone back to, as what the earlier ones
// have matched can stay (a well-known remark on globs; Russ Cox writes it up in
// "Glob Matching Can Be Simple And Fast Too"): so no pattern takes longer than
// its length times that of the text.
func matches(pattern, text []byte) bool {
	p, t := 0, 0
	starAt, starText := -1, 0
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			starAt, starText = p, t
			p++
			continue
		}
		if n := one(pattern[p:], text[t]); n > 0 {
			p, t = p+n, t+1
			continue
		}
		if starAt < 0 {
			return false
		}
		starText++
		p, t = starAt+1, starText
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// one reports how much of the pattern's front matches b: 0 is that it does not.
func one(pattern []byte, b byte) int {
	if len(pattern) == 0 {
		return 0
	}
	switch pattern[0] {
	case '?':
		return 1
	case '[':
		return set(pattern, b)
	case '\\':
		if len(pattern) > 1 {
			if pattern[1] == b {
				return 2
			}
			return 0
		}
	}
	if pattern[0] == b {
		return 1
	}
	return 0
}

// set is one for a pattern that begins with a set. One that is not closed ends
// with the pattern, as in Redis.
func set(pattern []byte, b byte) int {
	i, not, found := 1, false, false
	if i < len(pattern) && pattern[i] == '^' {
		not = true
		i++
	}
	for i < len(pattern) && pattern[i] != ']' {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
			found = found || pattern[i] == b
		case i+2 < len(pattern) && pattern[i+1] == '-':
			low, high := min(pattern[i], pattern[i+2]), max(pattern[i], pattern[i+2])
			found = found || low <= b && b <= high
			i += 2
		default:
			found = found || pattern[i] == b
		}
		i++
	}
	if found == not {
		return 0
	}
	return min(i+1, len(pattern))
}
