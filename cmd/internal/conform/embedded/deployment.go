package embedded

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// Deployment is a broker, a relay and nodes, over a SQLite file.
type Deployment struct {
	*part.Tier
	db     *table.SQLite
	broker *part.Process
}

// Open makes the database and starts everything. The table is made too, since
// a relay refuses what it cannot follow.
func Open(ctx context.Context, o part.Options) (*Deployment, error) {
	d := &Deployment{db: &table.SQLite{Path: filepath.Join(o.Dir, "conform.db")}}
	source := fmt.Sprintf("{sqlite: {path: %q}}", d.db.Path)
	var err error
	if d.Tier, err = part.NewTier(o, func(string) (string, error) { return source, nil }); err != nil {
		return nil, err
	}
	if d.broker, err = d.Part("broker", "broker", source); err == nil {
		err = d.open(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Deployment) open(ctx context.Context) error {
	if err := sqlite.Script(ctx, d.db.Path, "PRAGMA user_version = 1"); err != nil {
		return err
	}
	if err := d.db.Create(ctx); err != nil {
		return err
	}
	if err := d.startBroker(ctx); err != nil {
		return err
	}
	return d.Start(ctx)
}

// startBroker starts the broker, and leads its clients to where it now is.
func (d *Deployment) startBroker(ctx context.Context) error {
	if err := d.broker.Start(ctx); err != nil {
		return err
	}
	address, _, _ := d.broker.Where()
	d.Front.To(address)
	return nil
}

// Close ends everything, the broker last.
func (d *Deployment) Close() error {
	err := d.End()
	if d.broker != nil {
		err = errors.Join(err, d.broker.End())
	}
	return err
}

// Database is where the rows are.
func (d *Deployment) Database() table.Database { return d.db }
