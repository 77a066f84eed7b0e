package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/freshet-cache/freshet/cdc/relay"
	outbox "github.com/freshet-cache/freshet/cdc/relay/sqlite"
	"github.com/freshet-cache/freshet/cmd/internal/config"
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
	return s, catalog, nil
}

// changeLog is a source's log of changes, as a relay reads it.
type changeLog interface {
	relay.Log
	// Install puts into the source what the log needs there.
	Install(context.Context) error
	Close() error
}

// openLog returns the log of the configured source. A relay maps nothing
// itself; but what a node will refuse is better found before anything is
// installed for it.
func openLog(ctx context.Context, c *config.Config, log *slog.Logger) (changeLog, error) {
	if _, err := sqlite.Complete(ctx, c.Source.SQLite.Path, time.Second, specs(c)); err != nil {
		return nil, err
	}
	return outbox.New(outbox.Options{Path: c.Source.SQLite.Path}, specs(c), log), nil
}

func openSQLite(ctx context.Context, c *config.Config) (database, *proxy.Catalog, error) {
	s, catalog, err := sqlite.Open(ctx, sqlite.Options{Path: c.Source.SQLite.Path, Readers: c.Source.SQLite.Readers}, specs(c))
	if err != nil {
		return nil, nil, err
	}
	return s, catalog, nil
}
