package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/clock"
)

// Postgres is the table in a PostgreSQL database: in the schema that the
// user's search path begins with.
type Postgres struct {
	URL string // as libpq takes it
}

// away is how long a server may be away, or a statement wait, before that is
// an error.
const away = time.Minute

// Create makes the table and its log, and the function of the log's triggers.
func (p *Postgres) Create(ctx context.Context) error {
	return p.once(ctx, func(tx pgx.Tx) error {
		var schema string
		var there bool
		const question = "SELECT coalesce(current_schema(), ''), to_regclass($1) IS NOT NULL OR to_regclass($2) IS NOT NULL"
		if err := tx.QueryRow(ctx, question, Rows, Log).Scan(&schema, &there); err != nil {
			return err
		}
		switch {
		case schema == "":
			return errors.New("there is no schema on the search path to make the tables in: name one with ?search_path=… in the URL")
		case there:
			return fmt.Errorf("schema %s has a table %s or %s already: drop what an earlier run has left, or name another database", schema, Rows, Log)
		}
		return allOf(ctx, tx, postgresTables...)
	})
}

// Drop removes the table and its log.
func (p *Postgres) Drop(ctx context.Context) error {
	return p.once(ctx, func(tx pgx.Tx) error { return allOf(ctx, tx, postgresDrops...) })
}

// once carries out one transaction on a connection of its own.
func (p *Postgres) once(ctx context.Context, f func(pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, away)
	defer cancel()
	c, err := pgx.Connect(ctx, p.URL)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	return pgx.BeginFunc(ctx, c, f)
}

func allOf(ctx context.Context, tx pgx.Tx, statements ...string) error {
	for _, s := range statements {
		if _, err := tx.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Clock makes one round trip to the server's clock.
func (p *Postgres) Clock(ctx context.Context, c Conn) (history.Clock, error) {
	pg := c.(*postgresConn)
	var h history.Clock
	return h, pg.patiently(ctx, func(ctx context.Context) error {
		var t int64
		before := clock.Boottime()
		err := pg.c.QueryRow(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").Scan(&t)
		after := clock.Boottime()
		lo := proxy.Time(t * int64(time.Microsecond))
		h = history.Clock{At: history.Time(after), Lo: lo, Hi: lo.Add(after - before + time.Microsecond)}
		return err
	})
}

// Connect returns a connection of one writer's own. It outlives the server's:
// where that is lost it makes another one, for as long as a server may be away.
func (p *Postgres) Connect(ctx context.Context) (Conn, error) {
	c := &postgresConn{url: p.URL}
	if _, err := pgx.ParseConfig(p.URL); err != nil {
		return nil, err
	}
	return c, c.patiently(ctx, func(context.Context) error { return nil })
}

type postgresConn struct {
	url string
	c   *pgx.Conn // nil: to be made
}

func (p *postgresConn) Close() error {
	if p.c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.c.Close(ctx) // there is nobody whom it would matter to
	return nil
}

// patiently carries out what may be carried out again, on a connection that is
// there, until it is or that takes too long.
func (p *postgresConn) patiently(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, away)
	defer cancel()
	for {
		err := p.connected(ctx)
		if err == nil {
			err = f(ctx)
		}
		if err == nil || !passing(err) || !pause.For(ctx, 20*time.Millisecond) {
			return err
		}
	}
}

func (p *postgresConn) connected(ctx context.Context) (err error) {
	if p.c != nil && !p.c.IsClosed() {
		return nil
	}
	config, err := pgx.ParseConfig(p.url)
	if err != nil {
		return err
	}
	config.ConnectTimeout = 2 * time.Second
	// Nothing is prepared: the table may be another one for the next
	// transaction, and a pooler's connection too.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	p.c, err = pgx.ConnectConfig(ctx, config)
	return err
}

// passing reports whether a failure says nothing of what was to be done: it
// may be done once more.
func passing(err error) bool {
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, ErrNotLogged):
		return false
	case !errors.As(err, &pg):
		return true // the connection, or that there is none
	}
	switch pg.Code {
	case "40001", "40P01": // serialization failure, deadlock
		return true
	case "23505": // somebody else has just taken the id
		return true
	case "42P01", "42703", "XX000": // the table is being made anew
		return true
	case "25006": // no primary any more, or not yet
		return true
	}
	switch pg.Code[:2] {
	case "08", "53", "57": // connection, full, shutting down or starting
		return true
	}
	return false
}
