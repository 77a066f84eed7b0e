package stacked

import (
	"context"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// failover is the end of the primary: its standby takes over, and gets a
// standby of its own.
func (d *Deployment) failover() fault.Fault {
	return onDatabase("failover", time.Second, 2*time.Second,
		func(ctx context.Context) error {
			old := d.database.primary
			if err := old.Kill(); err != nil {
				return err
			}
			if err := d.database.promote(ctx); err != nil {
				return err
			}
			d.database.lead(d.database.primary.Address(), everybody)
			return old.Close()
		}, d.database.follow)
}

// survivor is a failover whose old primary lives on: those that were led away
// from it write and read elsewhere, and the relay ships what it still says.
func (d *Deployment) survivor() fault.Fault {
	var old *stack.Postgres
	return onDatabase("old primary lives on", 3*time.Second, 3*time.Second,
		func(ctx context.Context) error {
			old = d.database.primary
			led := func(name string) bool { return name != d.Relay.Name() }
			// First away from the old one: it is fenced.
			d.database.lead(d.database.standby.Address(), led)
			return d.database.promote(ctx)
		}, func(ctx context.Context) error {
			d.database.lead(d.database.primary.Address(), everybody)
			if err := old.Close(); err != nil {
				return err
			}
			return d.database.follow(ctx)
		})
}

// promote makes the standby the primary. What it has not got was acknowledged
// to nobody.
func (d *database) promote(ctx context.Context) error {
	if err := d.standby.Promote(ctx); err != nil {
		return err
	}
	d.primary, d.standby = d.standby, nil
	return nil
}

// onDatabase is a fault of the primary and its standby.
func onDatabase(name string, least, most time.Duration, begin, end func(context.Context) error) fault.Fault {
	return part.Lasting(name, "database", least, most, begin, end)
}
