package table

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Setup returns what makes the table, for who maps it before a run: with the
// rights of the role that the nodes have, and its place in the publication.
func (p *Postgres) Setup(nodes *Postgres, publication string) ([]string, error) {
	own, err := p.role()
	if err != nil {
		return nil, err
	}
	theirs, err := nodes.role()
	if err != nil {
		return nil, err
	}
	statements := slices.Concat(postgresTable, []string{
		"ALTER TABLE " + Rows + " OWNER TO " + own,
		"GRANT USAGE, CREATE ON SCHEMA " + schema + " TO " + own,
	})
	if theirs != own {
		statements = append(statements, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+Rows+" TO "+theirs)
	}
	return append(statements, "ALTER PUBLICATION "+pgx.Identifier{publication}.Sanitize()+" ADD TABLE "+Rows), nil
}

// schema is where use cases look for a table of no other.
const schema = "public"

// role is the user's name, as SQL spells it.
func (p *Postgres) role() (string, error) {
	c, err := pgx.ParseConfig(p.URL)
	if err != nil {
		return "", err
	}
	return pgx.Identifier{c.User}.Sanitize(), nil
}

// Undo returns what Leave does.
func (p *Postgres) Undo(there bool) []string {
	if !there {
		return postgresDrops
	}
	return []string{
		"DROP TRIGGER IF EXISTS " + Log + "_row ON " + Rows,
		"DROP TRIGGER IF EXISTS " + Log + "_all ON " + Rows,
		"DELETE FROM " + Rows,
		"DROP TABLE IF EXISTS " + Log,
		"DROP FUNCTION IF EXISTS " + Log,
	}
}

const (
	postgresColumns = "id integer, alias text, grp integer, pad text, val text"

	// What a database says of itself, of the user and of the table.
	postgresLook = `SELECT pg_is_in_recovery(), coalesce(current_schema(), ''), quote_ident(current_user),
	coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
	to_regclass($1) IS NOT NULL OR to_regproc($1) IS NOT NULL,
	t.oid IS NOT NULL, coalesce(pg_has_role(t.relowner, 'USAGE'), false),
	(SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
		FROM pg_attribute WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped)
	FROM (VALUES (1)) AS one LEFT JOIN pg_class AS t ON t.oid = to_regclass($2)`
)

// looked is its answer.
type looked struct {
	standby, mayCreate, log, there, owned bool
	schema, user                          string
	columns                               *string
}

// Look reports whether the table is there, as it has to be and empty. It
// returns an error for what a run must not touch, or cannot without more
// rights.
func (p *Postgres) Look(ctx context.Context) (there bool, err error) {
	err = p.once(ctx, func(tx pgx.Tx) error {
		var l looked
		if err := tx.QueryRow(ctx, postgresLook, Log, Rows).Scan(&l.standby, &l.schema, &l.user, &l.mayCreate, &l.log, &l.there, &l.owned, &l.columns); err != nil {
			return err
		}
		there = l.there
		if err := p.fit(&l); err != nil || !there {
			return err
		}
		var rows bool
		err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+Rows+")").Scan(&rows)
		if err == nil && rows {
			err = errNotEmpty()
		}
		return err
	})
	return there, mended(err)
}

func (p *Postgres) fit(l *looked) error {
	switch {
	case l.standby:
		return errors.New("the server is a standby, and takes no writes: name the primary")
	case l.schema != schema:
		return fmt.Errorf("the search path leads to schema %q, and use cases look in %s: add search_path=%s to the URL", l.schema, schema, schema)
	case l.log:
		return errLeft(p.Undo(true))
	case l.there && *l.columns != postgresColumns:
		return errColumns(*l.columns, postgresColumns)
	case l.there && !l.owned:
		return fmt.Errorf("role %s does not own %s, and may make no triggers on it: ALTER TABLE %s OWNER TO %s", l.user, Rows, Rows, l.user)
	case !l.mayCreate:
		return fmt.Errorf("role %s may make no tables in schema %s: GRANT CREATE ON SCHEMA %s TO %s, for as long as runs are made", l.user, schema, schema, l.user)
	}
	return nil
}

// mended says what lets a connection be made that failed.
func mended(err error) error {
	var server *pgconn.PgError
	var network *net.OpError
	switch {
	case errors.As(err, &server) && (server.Code == "28P01" || server.Code == "28000"):
		return fmt.Errorf("%w: correct the user or the password, or let pg_hba.conf admit this user from here", err)
	case errors.As(err, &network), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: start the server, or correct its host and port", err)
	}
	return err
}

// Enter makes the log, and the table if it is not there. Whoever gets another
// error than ErrUnknown has nothing to undo.
func (p *Postgres) Enter(ctx context.Context, there bool) error {
	statements := postgresTables
	if there {
		statements = slices.Concat(postgresLog, postgresTriggers)
	}
	made := false
	err := p.once(ctx, func(tx pgx.Tx) error {
		err := allOf(ctx, tx, statements...)
		made = err == nil
		return err
	})
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && slices.Contains(taken, refused.Code):
		return errLeft(p.Undo(true))
	case made && err != nil && refused == nil:
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// taken are what a server says of names that another run took after both had
// looked: of tables, functions and triggers, and of any while that run has not
// committed yet.
var taken = []string{"42P07", "42723", "42710", "23505"}

// Clear removes all rows, and what the log has.
func (p *Postgres) Clear(ctx context.Context) error {
	return p.once(ctx, func(tx pgx.Tx) error { return allOf(ctx, tx, "DELETE FROM "+Rows, "DELETE FROM "+Log) })
}

// Leave undoes what Enter, and all since then, has done.
func (p *Postgres) Leave(ctx context.Context, there bool) error {
	return p.once(ctx, func(tx pgx.Tx) error { return allOf(ctx, tx, p.Undo(there)...) })
}
