package node

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/freshet-cache/freshet/cmd/internal/config"
)

// DevDatabase is the name of the database in the folder of freshet dev.
const DevDatabase = "shop.db"

// devPartitions are enough to see that a stream has several.
const devPartitions = 4

// DevOptions are where freshet dev listens and keeps its files.
type DevOptions struct {
	Listen string // of the first node; further nodes take the next ports
	Admin  string // likewise
	Kafka  string
	Dir    string // "": a temporary folder, removed at the end
	Nodes  int
}

// Dev is everything in one process: a sample database, a broker, a relay and
// nodes, joined the way they are when they are far apart.
type Dev struct {
	dir       string
	temporary bool
	unlock    func()
	broker    *Broker
	relay     *Relay
	nodes     []*Node
	log       *slog.Logger
}

// OpenDev makes or finds the folder, and takes all ports.
func OpenDev(ctx context.Context, o DevOptions, log *slog.Logger) (*Dev, error) {
	d := &Dev{dir: o.Dir, temporary: o.Dir == "", log: log, unlock: func() {}}
	if err := d.open(ctx, o); err != nil {
		d.abandon()
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *Dev) open(ctx context.Context, o DevOptions) (err error) {
	if err := d.openDir(); err != nil {
		return err
	}
	if err := Sample(ctx, d.Database()); err != nil {
		return err
	}
	c := config.Default()
	c.Source.SQLite.Path = d.Database()
	c.UseCases = sampleUseCases()
	c.Relay.Partitions = devPartitions
	if d.broker, err = OpenBroker(o.Kafka, filepath.Join(d.dir, "kafka"), c.Stream.Kafka.Topic, devPartitions); err != nil {
		return err
	}
	c.Stream.Kafka.Brokers = []string{d.broker.Address()}
	c.Relay.Admin = "" // the first node's admin port is enough to look at
	if d.relay, err = OpenRelay(ctx, c, d.log); err != nil {
		return err
	}
	// The relay would do this itself, a moment after the nodes have asked.
	if err := d.relay.install(ctx); err != nil {
		return err
	}
	for i := range o.Nodes {
		own := *c
		own.Node.Listen, own.Node.Admin = nth(o.Listen, i), nth(o.Admin, i)
		n, err := Open(ctx, &own, d.log.With("node", i))
		if err != nil {
			return err
		}
		d.nodes = append(d.nodes, n)
	}
	return nil
}

func (d *Dev) openDir() (err error) {
	if d.temporary {
		d.dir, err = os.MkdirTemp("", "freshet-dev-")
	} else if d.dir, err = filepath.Abs(d.dir); err == nil {
		err = os.MkdirAll(d.dir, 0o700)
	}
	if err != nil {
		return err
	}
	d.unlock, err = lock(filepath.Join(d.dir, "lock"))
	return err
}

// nth returns the address i ports further; with port 0 the system chooses each.
// What is no address stays as it is: to listen there will say so.
func nth(address string, i int) string {
	host, port, _ := net.SplitHostPort(address)
	n, err := strconv.Atoi(port)
	if err != nil || n == 0 {
		return address
	}
	return net.JoinHostPort(host, strconv.Itoa(n+i))
}

// Database is the path of the database file.
func (d *Dev) Database() string { return filepath.Join(d.dir, DevDatabase) }

// Addresses are where the nodes serve Redis clients.
func (d *Dev) Addresses() []string {
	var out []string
	for _, n := range d.nodes {
		out = append(out, n.Address())
	}
	return out
}

// Ready waits until every node is ready, or ctx ends.
func (d *Dev) Ready(ctx context.Context) error {
	for _, n := range d.nodes {
		if err := n.Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Run keeps everything going until ctx ends: then the nodes drain, the relay
// stops, the broker closes, and a temporary folder is removed.
func (d *Dev) Run(ctx context.Context) error {
	parts := []part{
		{"broker", func(ctx context.Context) error { <-ctx.Done(); return nil }},
		{"relay", d.relay.Run},
	}
	for i, n := range d.nodes {
		parts = append(parts, part{"node " + strconv.Itoa(i), n.Run})
	}
	return errors.Join(live(ctx, func() {}, parts), d.close())
}

// abandon gives back what has been opened and will not run.
func (d *Dev) abandon() {
	for _, n := range d.nodes {
		n.Close()
	}
	if d.relay != nil {
		d.relay.Close()
	}
}

// close gives back the broker and the folder.
func (d *Dev) close() error {
	if d.broker != nil {
		d.broker.Close()
	}
	d.unlock()
	if d.temporary && d.dir != "" {
		return os.RemoveAll(d.dir)
	}
	return nil
}
