package sqlite

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/freshet-cache/freshet/proxy/source/row"
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

// The triggers of a followed table, by what comes behind the table in their
// names.
const (
	BeforeInsert = "_bi"
	BeforeUpdate = "_bu"
	AfterInsert  = "_ai"
	AfterUpdate  = "_au"
	AfterDelete  = "_ad"
)

// TriggerPrefix begins the names of all triggers that fill the outbox.
const TriggerPrefix = "freshet_cdc_"

// TriggerName names a trigger of a table.
func TriggerName(table, trigger string) string { return TriggerPrefix + table + trigger }

// LoggedName begins what a trigger logs of a column: the column's name in
// hexadecimal, whatever its bytes, and a colon.
func LoggedName(column string) string { return hex.EncodeToString([]byte(column)) + ":" }

// followed reports whether the triggers that log a table's changes are there,
// and log a key. While they are not (no relay knows the use case, or the
// table was just created again), what is read of the table can still be
// served for as long as the bound allows, but no later checkpoint says
// anything about it.
func followed(ctx context.Context, c *Conn, t *Table, key []row.KeyColumn) (bool, error) {
	missing := map[string]bool{}
	for _, trigger := range []string{BeforeInsert, BeforeUpdate, AfterInsert, AfterUpdate, AfterDelete} {
		missing[TriggerName(t.Name, trigger)] = true
	}
	complete := true
	err := c.Query(ctx, func(v []any) error {
		delete(missing, v[0].(string))
		for _, col := range key {
			complete = complete && strings.Contains(v[1].(string), "'"+LoggedName(col.Name)+"'")
		}
		return nil
	}, `SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? AND name GLOB '`+TriggerPrefix+`*'`, t.Name)
	return complete && len(missing) == 0, err
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
