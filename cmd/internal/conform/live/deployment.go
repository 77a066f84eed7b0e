package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/load"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
)

// Options say which deployment it is.
type Options struct {
	Config *config.Config // of a node, with its section conform
	Out    string         // where what faults say goes; it exists
	Log    *slog.Logger
}

// database is one in which a run is a guest.
type database interface {
	table.Database
	Look(ctx context.Context) (there bool, err error)
	Enter(ctx context.Context, there bool) error
	Clear(ctx context.Context) error
	Leave(ctx context.Context, there bool) error
	Undo(there bool) []string
	Clock(ctx context.Context, c table.Conn) (history.Clock, error)
}

// Deployment is one that was there before.
type Deployment struct {
	opts     Options
	db       database
	useCases []load.UseCase
	there    bool       // the table was, before
	clock    table.Conn // what the source's clock is asked by
}

// aLook is how long the database may take to say what there is, or to be
// entered.
const aLook = 15 * time.Second

// Open finds out whether a run is possible, and prepares it. Its error says
// what to do; the database then is as it was.
func Open(ctx context.Context, o Options) (*Deployment, error) {
	if len(o.Config.Conform.Nodes) == 0 {
		return nil, errors.New("the configuration has no conform.nodes: name every node with listen and admin")
	}
	useCases, err := chosen(o.Config)
	if err != nil {
		return nil, err
	}
	d := &Deployment{opts: o, db: databaseOf(o.Config), useCases: useCases}
	if d.there, err = d.look(ctx); err != nil {
		return nil, fmt.Errorf("the database: %w", err)
	}
	if err := d.ask(ctx); err != nil {
		return nil, err
	}
	if err := d.enter(ctx); err != nil {
		return nil, fmt.Errorf("the database: %w", err)
	}
	if err := d.begin(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// databaseOf is the database, as the one who writes to it is to see it.
func databaseOf(c *config.Config) database {
	if url := c.Conform.Database.Value(); url != "" {
		return &table.Postgres{URL: url}
	}
	if url := c.Source.Postgres.URL.Value(); url != "" {
		return &table.Postgres{URL: url}
	}
	return &table.SQLite{Path: c.Source.SQLite.Path}
}

// Setup returns the statements that make the table, for who may: it has to be
// there before nodes can have it mapped.
func Setup(c *config.Config) ([]string, error) {
	if db, ok := databaseOf(c).(*table.Postgres); ok {
		return db.Setup(&table.Postgres{URL: c.Source.Postgres.URL.Value()}, c.Relay.Publication)
	}
	return (&table.SQLite{}).Setup(), nil
}

func (d *Deployment) look(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, aLook)
	defer cancel()
	return d.db.Look(ctx)
}

// enter is carried out or not, whatever becomes of the run meanwhile.
func (d *Deployment) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), aLook)
	defer cancel()
	err := d.db.Enter(within, d.there)
	if errors.Is(err, table.ErrUnknown) {
		err = errors.Join(err, d.leave())
	}
	return err
}

func (d *Deployment) begin(ctx context.Context) (err error) {
	if d.clock, err = d.db.Connect(ctx); err != nil {
		return err
	}
	return d.try(ctx)
}

// Close leaves the database as it was.
func (d *Deployment) Close() error {
	var err error
	if d.clock != nil {
		err = d.clock.Close()
	}
	return errors.Join(err, d.leave())
}

// How often leaving is tried, and how long one try may take.
const (
	tries     = 10
	aTry      = 10 * time.Second
	untilNext = 2 * time.Second
)

// leave does not give up at once: the database may be away for the moment.
func (d *Deployment) leave() error {
	var err error
	for range tries {
		ctx, cancel := context.WithTimeout(context.Background(), aTry)
		err = d.db.Leave(ctx, d.there)
		cancel()
		if err == nil {
			return nil
		}
		d.opts.Log.Warn("the database cannot be left as it was yet: trying again", "error", err)
		pause.For(context.Background(), untilNext)
	}
	return fmt.Errorf("the database could not be left as it was, so that is to be done by hand:\n\n%s\n%w", table.Script(d.db.Undo(d.there)), err)
}

// Database is where the rows are.
func (d *Deployment) Database() table.Database { return d.db }

// UseCases are those over the table.
func (d *Deployment) UseCases() []load.UseCase { return d.useCases }

// Nodes names the nodes.
func (d *Deployment) Nodes() []string {
	var out []string
	for _, n := range d.opts.Config.Conform.Nodes {
		out = append(out, n.Name)
	}
	return out
}

func (d *Deployment) named(name string) config.ConformNode {
	for _, n := range d.opts.Config.Conform.Nodes {
		if n.Name == name {
			return n
		}
	}
	return config.ConformNode{}
}

// Address is where a node serves; whether it does, nobody knows here.
func (d *Deployment) Address(node string) string { return d.named(node).Listen }

// Admin is where a node's counters are. Which of its lives they are of, they
// say themselves.
func (d *Deployment) Admin(node string) (address string, life uint64) {
	return d.named(node).Admin, 0
}

// Clock makes one round trip to the source's clock.
func (d *Deployment) Clock(ctx context.Context) (history.Clock, error) {
	return d.db.Clock(ctx, d.clock)
}

// Histories are none: the nodes write none.
func (d *Deployment) Histories() []string { return nil }

// End ends nothing. What a node still carries out then is none of the answers
// that are judged.
func (d *Deployment) End() error { return nil }
