package sqlite

import (
	"strings"
)

// Followable says why the changes of a table cannot be followed, and how to
// mend it. A table that cannot is not served: nothing would say when what is
// cached of it is old.
func Followable(t *Table) error {
	if len(t.Primary) == 0 {
		return unfit("table %q has no primary key, which tells its rows apart: give it one", t.Name)
	}
	for _, x := range t.Unique {
		for _, c := range x.Columns {
			switch {
			case c.Name == "":
				return unfit("unique index %q of table %q is on an expression, so REPLACE may remove rows unnoticed: put the expression into a generated column and index that", x.Name, t.Name)
			case c.Collation != "BINARY" && c.Collation != "NOCASE" && c.Collation != "RTRIM":
				return unfit("unique index %q of table %q compares as %s, which only programs of its own know: use BINARY, NOCASE or RTRIM", x.Name, t.Name, c.Collation)
			}
		}
	}
	return nil
}

// PrimaryCollation returns the collation in which the primary key compares a
// column.
func (t *Table) PrimaryCollation(column string) string {
	for _, x := range t.Unique {
		if !x.Primary {
			continue
		}
		for _, c := range x.Columns {
			if c.Name == column {
				return c.Collation
			}
		}
	}
	return "BINARY"
}

// Where returns the condition of a partial index, or "".
func (x Index) Where() string {
	if !x.Partial {
		return ""
	}
	depth := 0
	for i := 0; i < len(x.SQL); {
		end := token(x.SQL, i)
		switch word := x.SQL[i:end]; {
		case word == "(":
			depth++
		case word == ")":
			depth--
		case depth == 0 && strings.EqualFold(word, "WHERE"):
			return strings.TrimSpace(x.SQL[end:])
		}
		i = end
	}
	return ""
}

// token returns where the token of SQL that begins at i ends: a quoted name or
// text, a comment, a word, or one other byte.
func token(sql string, i int) int {
	until := func(close string, from int) int {
		if at := strings.Index(sql[from:], close); at >= 0 {
			return from + at + len(close)
		}
		return len(sql)
	}
	switch c := sql[i]; {
	case c == '\'' || c == '"' || c == '`': // a doubled quote reads as two texts, which ends at the same place
		return until(string(c), i+1)
	case c == '[':
		return until("]", i+1)
	case strings.HasPrefix(sql[i:], "--"):
		return until("\n", i+2)
	case strings.HasPrefix(sql[i:], "/*"):
		return until("*/", i+2)
	case isWord(c):
		end := i
		for end < len(sql) && isWord(sql[end]) {
			end++
		}
		return end
	}
	return i + 1
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
