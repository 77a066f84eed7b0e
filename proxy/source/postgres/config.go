package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// Config reads a connection string as libpq does: a URL or keywords and
// values, several hosts, sslmode, passwords from .pgpass, service files, and
// the PG* variables for what it leaves open. Of several hosts the primary is
// meant, unless target_session_attrs says otherwise.
func Config(url string) (*pgconn.Config, error) {
	c, err := parse(url)
	if err == nil && c.ValidateConnect == nil && severalHosts(c) {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	return c, err
}

func parse(url string) (*pgconn.Config, error) {
	c, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("%w: spell it postgres://USER@HOST:PORT/DATABASE?sslmode=…, or as libpq's keywords and values", err)
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "freshet"
	}
	return c, nil
}

// severalHosts reports whether there is more than one place to try; a host is
// there twice if sslmode allows two ways to it.
func severalHosts(c *pgconn.Config) bool {
	for _, f := range c.Fallbacks {
		if f.Host != c.Host || f.Port != c.Port {
			return true
		}
	}
	return false
}

// connect opens a connection. The error names the mend.
func connect(ctx context.Context, c *pgconn.Config) (*pgconn.PgConn, error) {
	pg, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, mend(err))
	}
	return pg, nil
}
