package postgres

import (
	"fmt"
	"strings"
)

// publicSchema is where a table is whose name has no schema. A search path
// would not do: it depends on the role, and with it what a use case means.
const publicSchema = "public"

// Name is a table's full name, as the catalog spells it.
type Name struct{ Schema, Table string }

// ParseName reads "table", which is in schema public, or "schema.table". A
// part that holds a dot or a double quote is quoted as in SQL. Upper and lower
// case are as the catalog has them: nothing is folded.
func ParseName(text string) (Name, error) {
	var parts []string
	for rest := text; ; {
		part, after, err := cutPart(rest)
		if err != nil {
			return Name{}, fmt.Errorf("table %q: %w", text, err)
		}
		parts = append(parts, part)
		if after == "" {
			break
		}
		rest = after[1:]
	}
	switch len(parts) {
	case 1:
		return Name{publicSchema, parts[0]}, nil
	case 2:
		return Name{parts[0], parts[1]}, nil
	}
	return Name{}, fmt.Errorf("table %q: spell it TABLE or SCHEMA.TABLE, parts with a dot in double quotes", text)
}

// cutPart reads one part. after is empty, or begins with the dot behind it.
func cutPart(s string) (part, after string, err error) {
	if !strings.HasPrefix(s, `"`) {
		part, _, _ = strings.Cut(s, ".")
		if part == "" {
			return "", "", fmt.Errorf("a part of the name is empty")
		}
		return part, s[len(part):], nil
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '"':
			part += s[i : i+1]
		case strings.HasPrefix(s[i:], `""`):
			part += `"`
			i++
		case part == "" || i+1 < len(s) && s[i+1] != '.':
			return "", "", fmt.Errorf("misplaced double quote")
		default:
			return part, s[i+1:], nil
		}
	}
	return "", "", fmt.Errorf("a double quote is not closed")
}

// String is the one spelling of the name: what ParseName reads back, without
// the schema public. Mappings, changes and the topic use it.
func (n Name) String() string {
	if n.Schema == publicSchema {
		return spellPart(n.Table)
	}
	return spellPart(n.Schema) + "." + spellPart(n.Table)
}

func spellPart(part string) string {
	if strings.ContainsAny(part, `."`) {
		return quote(part)
	}
	return part
}

// SQL is the name as SQL spells it.
func (n Name) SQL() string { return quote(n.Schema) + "." + quote(n.Table) }

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
