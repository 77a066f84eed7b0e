package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/load"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// Options say what is deployed.
type Options struct {
	Executable string   // this program
	Args       []string // what makes it be a part: those of the part follow
	Dir        string   // where it may keep what it needs while it runs; it exists
	Out        string   // where histories of fills and logs go; it exists
	Nodes      int
}

// Deployment is a broker, a relay and nodes, over a SQLite file.
type Deployment struct {
	opts   Options
	db     *table.SQLite
	front  *front
	broker *process
	relay  *process
	nodes  []*process
}

// Open makes the database and starts everything. The table is made too, since
// a relay refuses what it cannot follow.
func Open(ctx context.Context, o Options) (*Deployment, error) {
	d := &Deployment{opts: o, db: &table.SQLite{Path: filepath.Join(o.Dir, "conform.db")}}
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Deployment) open(ctx context.Context) (err error) {
	if err := sqlite.Script(ctx, d.db.Path, "PRAGMA user_version = 1"); err != nil {
		return err
	}
	if err := d.db.Create(ctx); err != nil {
		return err
	}
	if d.front, err = newFront(); err != nil {
		return err
	}
	if d.broker, err = d.part("broker", "broker"); err != nil {
		return err
	}
	if d.relay, err = d.part("relay", "relay"); err != nil {
		return err
	}
	for i := range d.opts.Nodes {
		n, err := d.part("node", "node-"+strconv.Itoa(i))
		if err != nil {
			return err
		}
		d.nodes = append(d.nodes, n)
	}
	if err := d.startBroker(ctx); err != nil {
		return err
	}
	for _, p := range append([]*process{d.relay}, d.nodes...) {
		if err := p.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// part prepares a process, with a configuration of its own.
func (d *Deployment) part(kind, name string) (*process, error) {
	config := filepath.Join(d.opts.Dir, name+".yaml")
	return &process{
		name: name,
		exe:  d.opts.Executable,
		logs: filepath.Join(d.opts.Out, name+".log"),
		args: func(life uint64) []string {
			return append(slices.Clone(d.opts.Args), "--kind", kind, "--config", config, "--front", d.front.address(),
				"--fills", d.fills(name, life), "--node", name, "--life", strconv.FormatUint(life, 10))
		},
	}, os.WriteFile(config, settings(d.db.Path, d.front.address(), name), 0o600)
}

// startBroker starts the broker, and leads its clients to where it now is.
func (d *Deployment) startBroker(ctx context.Context) error {
	if err := d.broker.start(ctx); err != nil {
		return err
	}
	address, _, _ := d.broker.where()
	d.front.to(address)
	return nil
}

func (d *Deployment) fills(node string, life uint64) string {
	return filepath.Join(d.opts.Out, fmt.Sprintf("fills-%s-%d.jsonl", node, life))
}

// Close ends everything, the nodes first.
func (d *Deployment) Close() error {
	var errs []error
	for _, p := range append(d.nodes, d.relay, d.broker) {
		if p != nil {
			errs = append(errs, p.end())
		}
	}
	if d.front != nil {
		d.front.close()
	}
	return errors.Join(errs...)
}

// Database is where the rows are.
func (d *Deployment) Database() table.Database { return d.db }

// UseCases are those over the table.
func (d *Deployment) UseCases() []load.UseCase { return useCases() }

// Nodes names the nodes.
func (d *Deployment) Nodes() []string {
	var out []string
	for _, n := range d.nodes {
		out = append(out, n.name)
	}
	return out
}

func (d *Deployment) named(name string) *process {
	for _, n := range d.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// Address is where a node serves; empty while it is down.
func (d *Deployment) Address(node string) string {
	address, _, _ := d.named(node).where()
	return address
}

// Admin is where a node's counters are, and which of its lives they are of.
func (d *Deployment) Admin(node string) (address string, life uint64) {
	_, admin, life := d.named(node).where()
	return admin, life
}

// Histories are the files that the nodes have written.
func (d *Deployment) Histories() []string {
	var out []string
	for _, n := range d.nodes {
		_, _, lives := n.where()
		for life := uint64(1); life <= lives; life++ {
			out = append(out, d.fills(n.name, life))
		}
	}
	return out
}

// Clock makes one round trip to the source's clock, which for a file is this
// host's.
func (d *Deployment) Clock(context.Context) (history.Clock, error) {
	return hostClock(), nil
}
