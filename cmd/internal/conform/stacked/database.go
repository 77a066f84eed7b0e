package stacked

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// database is a primary and its standby, and the ways to the primary. One
// fault at a time has the two in hand.
type database struct {
	version stack.Version
	primary *stack.Postgres
	standby *stack.Postgres

	mu   sync.Mutex
	at   string // where the primary is
	ways map[string]*stack.Forwarder
}

// The names by which a primary knows its standby.
const (
	second = "second"
	nobody = "nobody" // no standby has it: no commit that waits for it returns
)

func startDatabase(ctx context.Context, v stack.Version) (_ *database, err error) {
	d := &database{version: v, ways: map[string]*stack.Forwarder{}}
	// Writers get into each other's way all the time, and are to find out soon.
	if d.primary, err = stack.StartPostgres(ctx, v, "deadlock_timeout = '20ms'"); err != nil {
		return nil, err
	}
	d.at = d.primary.Address()
	if err = d.follow(ctx); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// way is the way of one client.
func (d *database) way(client string) (*stack.Forwarder, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.ways[client]; w != nil {
		return w, nil
	}
	w, err := stack.NewForwarder()
	if err != nil {
		return nil, err
	}
	w.To(d.at)
	d.ways[client] = w
	return w, nil
}

// lead leads clients to where the primary now is. What they have with another
// server ends.
func (d *database) lead(to string, clients func(name string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = to
	for name, w := range d.ways {
		if clients(name) {
			w.Cut()
			w.To(to)
			w.Pass()
		}
	}
}

func everybody(string) bool { return true }

func (d *database) exec(ctx context.Context, statements ...string) error {
	return d.primary.Exec(ctx, statements...)
}

// follow makes a standby, and waits until commits wait for it.
func (d *database) follow(ctx context.Context) (err error) {
	var settings []string
	if d.version == stack.PG17 { // whose standbys can keep up the relay's slot
		if err := d.exec(ctx, "SELECT pg_create_physical_replication_slot('second') WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = 'second')"); err != nil {
			return err
		}
		settings = []string{"sync_replication_slots = on", "hot_standby_feedback = on", "primary_slot_name = 'second'"}
	}
	if d.standby, err = d.primary.Standby(ctx, second, append(settings, "deadlock_timeout = '20ms'")...); err != nil {
		return err
	}
	if err := d.waitFor(ctx, second); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		n, err := d.primary.Query(ctx, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
		if err != nil || n == "1" {
			return err
		}
		if !pause.For(ctx, 10*time.Millisecond) {
			return fmt.Errorf("the standby does not follow: %w", ctx.Err())
		}
	}
}

// patience is how long a server may take for what it is told.
const patience = 60 * time.Second

// waitFor makes commits wait for a standby of that name.
func (d *database) waitFor(ctx context.Context, standby string) error {
	return d.exec(ctx, "ALTER SYSTEM SET synchronous_standby_names = '"+standby+"'", "SELECT pg_reload_conf()")
}

func (d *database) close() error {
	var errs []error
	for _, p := range []*stack.Postgres{d.standby, d.primary} {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	for _, w := range d.ways { // nobody adds any
		w.Close()
	}
	return errors.Join(errs...)
}
