package node

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/freshet-cache/freshet/cdc/relay"
	pglog "github.com/freshet-cache/freshet/cdc/relay/postgres"
	outbox "github.com/freshet-cache/freshet/cdc/relay/sqlite"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// database is a source that a node stands on.
type database interface {
	proxy.Source
	// Probe asks who the primary is and what its clock says.
	Probe(context.Context) (proxy.Identity, proxy.Time, error)
	Close() error
}

// openSource opens the source of the configured kind, and completes the use
// cases from its catalog.
func openSource(ctx context.Context, c *config.Config) (database, *proxy.Catalog, error) {
	if c.Source.Postgres.URL.Given() {
		return openPostgres(ctx, c)
	}
	return openSQLite(ctx, c)
}

func openPostgres(ctx context.Context, c *config.Config) (database, *proxy.Catalog, error) {
	s, catalog, err := postgres.Open(ctx, postgresOptions(c), specs(c))
	if err != nil {
		return nil, nil, err // not a nil *Source in a database that is not nil
	}
	if c.Stream.Format == "debezium" { // a relay looks for itself
		if err := s.Published(ctx); err != nil {
			return nil, nil, errors.Join(err, s.Close())
		}
	}
	return s, catalog, nil
}

// awaitSource is openSource, and waits for a server that is not there yet.
func awaitSource(ctx context.Context, c *config.Config, log *slog.Logger) (database, *proxy.Catalog, error) {
	for said := false; ; said = true {
		s, catalog, err := openSource(ctx, c)
		if err == nil || !postgres.Away(err) {
			return s, catalog, err
		}
		if !said {
			log.Warn("waiting for the database", "error", err)
		}
		if !pause.For(ctx, awayPause) {
			return nil, nil, err
		}
	}
}

// awayPause is how often a server that is away is tried.
const awayPause = 200 * time.Millisecond

// changeLog is a source's log of changes, as a relay reads it.
type changeLog interface {
	relay.Log
	Close() error
}

// openLog returns the log of the configured source. A relay maps nothing
// itself; but what a node will refuse is better found before anything is
// installed for it in a file. A server need not be there yet: the relay waits.
func openLog(ctx context.Context, c *config.Config, log *slog.Logger) (changeLog, error) {
	if c.Source.Postgres.URL.Given() {
		return pglog.New(logOptions(c), specs(c), log), nil
	}
	if _, err := sqlite.Complete(ctx, c.Source.SQLite.Path, time.Second, specs(c)); err != nil {
		return nil, err
	}
	return outbox.New(outbox.Options{Path: c.Source.SQLite.Path}, specs(c), log), nil
}

// checkLog finds what keeps a server's changes from being shipped. What can be
// wrong with a file, openLog has found.
func checkLog(ctx context.Context, c *config.Config) error {
	if !c.Source.Postgres.URL.Given() {
		return nil
	}
	return pglog.Check(ctx, logOptions(c), specs(c))
}

func openSQLite(ctx context.Context, c *config.Config) (database, *proxy.Catalog, error) {
	s, catalog, err := sqlite.Open(ctx, sqlite.Options{Path: c.Source.SQLite.Path, Readers: c.Source.SQLite.Readers}, specs(c))
	if err != nil {
		return nil, nil, err
	}
	return s, catalog, nil
}
