package table

import (
	"context"
	"fmt"
	"slices"
)

// sqliteTables makes the table and its log.
var sqliteTables = append([]string{sqliteRows}, sqliteLog...)

var sqliteLog = []string{
	"CREATE TABLE " + Log + " (seq INTEGER PRIMARY KEY AUTOINCREMENT, id INTEGER NOT NULL, value INTEGER NOT NULL)",
	"CREATE INDEX " + Log + "_value ON " + Log + " (value) WHERE value > 0",
}

const sqliteRows = "CREATE TABLE " + Rows + " (id INTEGER PRIMARY KEY, alias TEXT NOT NULL UNIQUE, grp INTEGER NOT NULL, val TEXT NOT NULL)"

// number is what stands behind the dot of a value.
const number = "CAST(substr(NEW.val, instr(NEW.val, '.') + 1) AS INTEGER)"

// sqliteTriggers are three: one for each of what a statement can do.
var sqliteTriggers = []string{
	"CREATE TRIGGER " + Log + "_i AFTER INSERT ON " + Rows + " BEGIN INSERT INTO " + Log + " (id, value) VALUES (NEW.id, " + number + "); END",
	"CREATE TRIGGER " + Log + "_u AFTER UPDATE ON " + Rows + " BEGIN INSERT INTO " + Log + " (id, value) SELECT OLD.id, 0 WHERE OLD.id <> NEW.id; INSERT INTO " + Log + " (id, value) VALUES (NEW.id, " + number + "); END",
	"CREATE TRIGGER " + Log + "_d AFTER DELETE ON " + Rows + " BEGIN INSERT INTO " + Log + " (id, value) VALUES (OLD.id, 0); END",
}

// sqliteUntriggered drops them, for what SQLite does not do to a column that a
// trigger names.
var sqliteUntriggered = []string{"DROP TRIGGER " + Log + "_i", "DROP TRIGGER " + Log + "_u", "DROP TRIGGER " + Log + "_d"}

// change carries out one change.
func (s *sqliteConn) change(ctx context.Context, ch Change) error {
	const insert = "INTO " + Rows + " (id, alias, grp, val) VALUES (?, ?, ?, ?)"
	text := Text(ch.ID, ch.Value)
	row := []any{ch.ID, AliasOf(ch.ID), ch.ID % Groups, text}
	switch ch.Op {
	case Insert:
		return s.exec(ctx, "INSERT OR IGNORE "+insert, row...)
	case Put: // removes a row without its delete trigger
		return s.exec(ctx, "INSERT OR REPLACE "+insert, row...)
	case Update:
		return s.exec(ctx, "UPDATE "+Rows+" SET val = ? WHERE id = ?", text, ch.ID)
	case Delete:
		return s.exec(ctx, "DELETE FROM "+Rows+" WHERE id = ?", ch.ID)
	case Move:
		return s.exec(ctx, "UPDATE OR IGNORE "+Rows+" SET id = ?, alias = ?, grp = ?, val = ? WHERE id = ?",
			ch.To, AliasOf(ch.To), ch.To%Groups, Text(ch.To, ch.Value), ch.ID)
	case Group:
		return s.exec(ctx, "UPDATE "+Rows+" SET val = id || '.' || (? + id) WHERE grp = ? AND id % 2 = 0", int64(ch.Value), ch.ID)
	case Truncate:
		return s.exec(ctx, "DELETE FROM "+Rows)
	case Reshape:
		return s.reshape(ctx, ch.Value)
	}
	return s.recreate(ctx)
}

func (s *sqliteConn) exec(ctx context.Context, statement string, args ...any) error {
	_, err := s.c.Exec(ctx, statement, args...)
	return err
}

// reshape changes what every row says and no row: no trigger notices. So the
// log is written here.
func (s *sqliteConn) reshape(ctx context.Context, value uint64) error {
	statements := slices.Concat(sqliteUntriggered, []string{
		"ALTER TABLE " + Rows + " DROP COLUMN val",
		fmt.Sprintf("ALTER TABLE %s ADD COLUMN val TEXT NOT NULL DEFAULT '.%d'", Rows, value),
		fmt.Sprintf("INSERT INTO %s (id, value) SELECT id, %d FROM %s", Log, value, Rows),
	}, sqliteTriggers)
	return execAll(ctx, s.c, statements)
}

// recreate empties the table without deleting a row. The triggers go with it.
func (s *sqliteConn) recreate(ctx context.Context) error {
	statements := slices.Concat([]string{
		"INSERT INTO " + Log + " (id, value) SELECT id, 0 FROM " + Rows,
		"DROP TABLE " + Rows,
		sqliteRows,
	}, sqliteTriggers)
	return execAll(ctx, s.c, statements)
}
