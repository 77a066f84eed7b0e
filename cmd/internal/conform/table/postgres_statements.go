package table

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// postgresTables makes the table and its log.
var postgresTables = slices.Concat(postgresLog, postgresTable, postgresTriggers)

// postgresLog makes the log. The number of a transaction finds its lines, among
// those of others that write at the same time.
var postgresLog = []string{
	"CREATE TABLE " + Log + " (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id integer NOT NULL, value bigint NOT NULL, tx bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint)",
	"CREATE INDEX " + Log + "_value ON " + Log + " (value) WHERE value > 0",
	"CREATE INDEX " + Log + "_tx ON " + Log + " (tx)",
	// The owner of the log writes it, whoever changes a row.
	"CREATE FUNCTION " + Log + `() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	IF TG_OP = 'TRUNCATE' THEN
		INSERT INTO ` + Log + ` (id, value) SELECT id, 0 FROM ` + Rows + ` ORDER BY id;
		RETURN NULL;
	END IF;
	IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND OLD.id <> NEW.id THEN
		INSERT INTO ` + Log + ` (id, value) VALUES (OLD.id, 0);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		INSERT INTO ` + Log + ` (id, value) VALUES (NEW.id, split_part(NEW.val, '.', 2)::bigint);
	END IF;
	RETURN NULL;
END $$`,
}

// postgresTable makes the table. The old rows of the change stream are told by
// both keys and nothing else, so that a pad that did not change is missing in
// it.
var postgresTable = []string{
	"CREATE TABLE " + Rows + " (id integer PRIMARY KEY, alias text NOT NULL UNIQUE, grp integer NOT NULL, pad text, val text NOT NULL)",
	"ALTER TABLE " + Rows + " ALTER pad SET STORAGE EXTERNAL",
	"CREATE UNIQUE INDEX " + Rows + "_identity ON " + Rows + " (id, alias)",
	"ALTER TABLE " + Rows + " REPLICA IDENTITY USING INDEX " + Rows + "_identity",
}

var postgresTriggers = []string{
	"CREATE TRIGGER " + Log + "_row AFTER INSERT OR UPDATE OR DELETE ON " + Rows + " FOR EACH ROW EXECUTE FUNCTION " + Log + "()",
	"CREATE TRIGGER " + Log + "_all BEFORE TRUNCATE ON " + Rows + " FOR EACH STATEMENT EXECUTE FUNCTION " + Log + "()",
}

var postgresDrops = []string{
	"DROP TABLE IF EXISTS " + Rows,
	"DROP TABLE IF EXISTS " + Log,
	"DROP FUNCTION IF EXISTS " + Log,
}

// postgresChange carries out one change.
func postgresChange(ctx context.Context, tx pgx.Tx, ch Change) error {
	exec := func(statement string, args ...any) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	}
	const insert = "INSERT INTO " + Rows + " (id, alias, grp, pad, val) VALUES ($1, $2, $3, $4, $5) ON CONFLICT "
	row := func(id int) []any { return []any{id, AliasOf(id), id % Groups, PadOf(id), Text(id, ch.Value)} }
	switch ch.Op {
	case Insert:
		return exec(insert+"DO NOTHING", row(ch.ID)...)
	case Put:
		return exec(insert+"(id) DO UPDATE SET val = excluded.val", row(ch.ID)...)
	case Update:
		return exec("UPDATE "+Rows+" SET val = $1 WHERE id = $2", Text(ch.ID, ch.Value), ch.ID)
	case Delete:
		return exec("DELETE FROM "+Rows+" WHERE id = $1", ch.ID)
	case Move:
		return exec("UPDATE "+Rows+" SET id = $1, alias = $2, grp = $3, pad = $4, val = $5 WHERE id = $6 AND NOT EXISTS (SELECT FROM "+Rows+" WHERE id = $1)",
			append(row(ch.To), ch.ID)...)
	case Group:
		return exec("UPDATE "+Rows+" SET val = id || '.' || ($1 + id) WHERE grp = $2 AND id % 2 = 0", int64(ch.Value), ch.ID)
	case Truncate:
		return exec("TRUNCATE " + Rows)
	case Reshape:
		return postgresReshape(ctx, tx, ch.Value)
	}
	return postgresRecreate(ctx, tx)
}

// postgresReshape changes what every row says and no row: no trigger notices,
// nor does the change stream. So the log is written here.
func postgresReshape(ctx context.Context, tx pgx.Tx, value uint64) error {
	return allOf(ctx, tx,
		"ALTER TABLE "+Rows+" DROP COLUMN val",
		fmt.Sprintf("ALTER TABLE %s ADD COLUMN val text NOT NULL DEFAULT '.%d'", Rows, value),
		fmt.Sprintf("INSERT INTO %s (id, value) SELECT id, %d FROM %s ORDER BY id", Log, value, Rows))
}

// postgresRecreate empties the table without deleting a row. Triggers, rights
// and its place in publications go with it.
func postgresRecreate(ctx context.Context, tx pgx.Tx) error {
	return allOf(ctx, tx, slices.Concat([]string{
		"LOCK TABLE " + Rows,
		"INSERT INTO " + Log + " (id, value) SELECT id, 0 FROM " + Rows + " ORDER BY id",
		"DROP TABLE " + Rows,
	}, postgresTable, postgresTriggers)...)
}
