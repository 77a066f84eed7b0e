package stacked

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/freshet-cache/freshet/cmd/internal/conform/load"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// Options say what is deployed.
type Options struct {
	part.Options
	Postgres stack.Version
	Debezium bool // ships the changes, and no relay does
}

// topic is where changes go: the default of a configuration.
const topic = "freshet"

// Deployment is PostgreSQL, Kafka, a relay and nodes.
type Deployment struct {
	*part.Tier
	out      string
	kafka    *stack.Kafka
	database *database
	connect  *stack.Connect // nil: a relay ships
	table    *table.Postgres
}

// Open starts everything. The table is made too, since a relay waits for what
// it is to follow.
func Open(ctx context.Context, o Options) (*Deployment, error) {
	d := &Deployment{out: o.Out}
	if err := d.open(ctx, o); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Deployment) open(ctx context.Context, o Options) (err error) {
	if d.database, err = startDatabase(ctx, o.Postgres); err != nil {
		return err
	}
	w, err := d.database.way("writers")
	if err != nil {
		return err
	}
	d.table = &table.Postgres{URL: url(w.Address())}
	if err := d.table.Create(ctx); err != nil {
		return err
	}
	if err := d.database.exec(ctx, "CREATE ROLE stranger LOGIN"); err != nil {
		return err
	}
	switch {
	case o.Debezium:
		o.Shipper, o.Stream = connector, "format: debezium, debezium: {topics: ["+topic+"]}"
	case o.Postgres == stack.PG17:
		o.Relay = "failover_slot: true"
	}
	if d.Tier, err = part.NewTier(o.Options, func(name string) (string, error) { return d.source(o, name) }); err != nil {
		return err
	}
	if d.kafka, err = stack.StartKafka(ctx, d.Front.Door()); err != nil {
		return err
	}
	d.Front.To(d.kafka.Broker())
	if o.Debezium {
		if err := d.startConnect(ctx); err != nil {
			return err
		}
	}
	return d.Start(ctx)
}

// source is the database for the part of that name, by a way of its own. Behind
// Debezium it is its nodes that ask what is visible, and they know of a standby,
// which is not to be asked that.
func (d *Deployment) source(o Options, name string) (string, error) {
	w, err := d.database.way(name)
	if err != nil {
		return "", err
	}
	primary, standby := filepath.Join(o.Dir, name+".url"), filepath.Join(o.Dir, "standby.url")
	if err := os.WriteFile(primary, []byte(url(w.Address())), 0o600); err != nil || !o.Debezium {
		return fmt.Sprintf("{postgres: {url: %q}}", "file:"+primary), err
	}
	return fmt.Sprintf("{postgres: {url: %q, replicas: [%q]}}", "file:"+primary, "file:"+standby),
		os.WriteFile(standby, []byte(url(d.database.standby.Address())), 0o600)
}

func url(address string) string {
	return "postgres://postgres@" + address + "/postgres?sslmode=disable"
}

// Close ends everything, the database last, and leaves what real parts have
// said beside what ours have.
func (d *Deployment) Close() error {
	var errs []error
	if d.Tier != nil {
		errs = append(errs, d.End())
	}
	if d.connect != nil {
		errs = append(errs, d.keep("connect.log", d.connect.Process), d.connect.Close())
	}
	if d.kafka != nil {
		errs = append(errs, d.keep("broker.log", d.kafka.Process), d.kafka.Close())
	}
	if d.database != nil {
		errs = append(errs, d.keep("database.log", d.database.primary.Process), d.database.close())
	}
	return errors.Join(errs...)
}

func (d *Deployment) keep(name string, p *stack.Process) error {
	return os.WriteFile(filepath.Join(d.out, name), []byte(p.Log()), 0o600)
}

// UseCases are those over the table, whose rows have pads here.
func (d *Deployment) UseCases() []load.UseCase {
	all := part.UseCases()
	for i := range all {
		all[i].Padded = true
	}
	return all
}

// Database is where the rows are.
func (d *Deployment) Database() table.Database { return d.table }
