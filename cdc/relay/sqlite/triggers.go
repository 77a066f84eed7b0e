package sqlite

import (
	"fmt"
	"strings"

	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// The operations in the outbox.
const (
	opInsert = "I"
	opUpdate = "U"
	opDelete = "D"
	opTouch  = "T" // the row may be replaced: SQLite removes it without a delete trigger
	opSchema = "S" // anything may have happened to the table
)

// triggers returns the text of the table's triggers. It is compared with what
// the catalog holds, so it is built the same way each time.
func (t *table) triggers() []string {
	name := sqlite.Quote(t.name)
	into := "INSERT INTO " + sqlite.OutboxTable
	literal := sqlite.Literal(t.name)
	trigger := func(suffix, event, body string) string {
		return fmt.Sprintf("CREATE TRIGGER %s %s ON %s BEGIN %s END", sqlite.Quote(sqlite.TriggerName(t.name, suffix)), event, name, body)
	}
	return []string{
		trigger(sqlite.BeforeInsert, "BEFORE INSERT", t.touches(false)),
		trigger(sqlite.BeforeUpdate, "BEFORE UPDATE", t.touches(true)),
		trigger(sqlite.AfterInsert, "AFTER INSERT", fmt.Sprintf("%s (tbl, op, new) VALUES (%s, '%s', %s);", into, literal, opInsert, t.keysOf("NEW"))),
		trigger(sqlite.AfterUpdate, "AFTER UPDATE", fmt.Sprintf("%s (tbl, op, old, new) VALUES (%s, '%s', %s, %s);", into, literal, opUpdate, t.keysOf("OLD"), t.keysOf("NEW"))),
		trigger(sqlite.AfterDelete, "AFTER DELETE", fmt.Sprintf("%s (tbl, op, old) VALUES (%s, '%s', %s);", into, literal, opDelete, t.keysOf("OLD"))),
	}
}

// touches logs the rows with which the new row conflicts in any unique index.
// A statement with OR REPLACE will remove them, and their delete triggers
// fire only in clients that have set recursive_triggers. Others will fail, or
// change nothing: then the touch goes with the statement, or is one drop too
// many.
func (t *table) touches(update bool) string {
	var body strings.Builder
	touch := func(terms, moved []string, where string) {
		if update {
			terms = append(terms, "("+strings.Join(moved, " OR ")+")")
		}
		if where != "" {
			terms = append(terms, "("+where+"\n)") // a comment may end it
		}
		fmt.Fprintf(&body, "INSERT INTO %s (tbl, op, old) SELECT %s, '%s', %s FROM %s AS o WHERE %s; ",
			sqlite.OutboxTable, sqlite.Literal(t.name), opTouch, t.keysOf("o"), sqlite.Quote(t.name), strings.Join(terms, " AND "))
	}
	rowid := t.is.Rowid
	if t.is.Alias != "" {
		rowid = sqlite.Quote(t.is.Alias)
	}
	if rowid != "" {
		touch([]string{"o." + rowid + " = NEW." + rowid}, []string{"NEW." + rowid + " IS NOT OLD." + rowid}, "")
	}
	for _, x := range t.is.Unique {
		var terms, moved []string
		for _, c := range x.Columns {
			column := sqlite.Quote(c.Name)
			terms = append(terms, fmt.Sprintf("o.%s COLLATE %s = NEW.%[1]s", column, c.Collation))
			moved = append(moved, fmt.Sprintf("NEW.%s COLLATE %s IS NOT OLD.%[1]s", column, c.Collation))
		}
		touch(terms, moved, x.Where())
	}
	if body.Len() == 0 { // nothing to conflict with: a table is followed only if it has a primary key
		return "SELECT 1;"
	}
	return strings.TrimSuffix(body.String(), " ")
}

// keysOf writes the logged columns of a row as one text, whatever bytes they
// hold: for each column its name and its value in hexadecimal, between them
// the initial of the storage class, as in "6964:i3432".
func (t *table) keysOf(alias string) string {
	var terms []string
	for _, name := range t.logged {
		c := alias + "." + sqlite.Quote(name)
		terms = append(terms, fmt.Sprintf("'%s' || substr(typeof(%s), 1, 1) || hex(CAST(%[2]s AS BLOB))", sqlite.LoggedName(name), c))
	}
	return strings.Join(terms, " || ',' || ")
}
