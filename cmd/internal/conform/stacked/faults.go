package stacked

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// Faults are all that can be done to this deployment.
func (d *Deployment) Faults(change part.Change) []fault.Fault {
	faults := append(d.ofShipper(), d.ofBroker()...)
	faults = append(faults, d.ofDatabase()...)
	faults = append(faults, part.OfTable(change)...)
	faults = append(faults, d.OfTier()...)
	for i, n := range d.Members {
		faults = append(faults, d.OfNode(i)...)
		faults = append(faults, d.ofWay(n.Name())...)
		if i > 0 {
			forget := func(ctx context.Context) error { return d.kafka.Forget(ctx, topic) }
			faults = append(faults, d.Forgotten(n, broker, forget)...)
			faults = append(faults, d.Suspended(i), d.Beyond(i))
		}
	}
	return faults
}

// frozen holds a process of the machine's for d.
func frozen(name, target string, d time.Duration, of func() *stack.Process) fault.Fault {
	return part.Lasting(name, target, d, d,
		func(context.Context) error { return of().Pause() },
		func(context.Context) error { return of().Resume() })
}

const broker = "broker"

// ofShipper are those of what ships the changes.
func (d *Deployment) ofShipper() []fault.Fault {
	if d.connect != nil {
		return append(d.ofConnect(), d.ofWay(connector)...)
	}
	return slices.Concat(d.OfRelay(), d.OfClock(), d.ofWay(d.Shipper()))
}

func (d *Deployment) ofBroker() []fault.Fault {
	all := []fault.Fault{
		part.Lasting("kill", broker, 100*time.Millisecond, time.Second,
			func(context.Context) error { return d.kafka.Kill() }, d.kafka.Start),
		frozen("freeze", broker, 2*time.Second, func() *stack.Process { return d.kafka.Process }),
		frozen("freeze for 3Δ", broker, 3*part.Delta, func() *stack.Process { return d.kafka.Process }),
		part.Once("topic made anew", broker, 2*time.Second, func(ctx context.Context) error {
			n, err := d.kafka.Partitions(ctx, topic)
			if err != nil {
				return err
			}
			return d.kafka.Recreate(ctx, topic, n)
		}),
	}
	if d.connect != nil { // whose stream keeps its partition count: that is an assumption
		return all
	}
	return append(all, part.Once("partition added", broker, 2*time.Second, func(ctx context.Context) error {
		n, err := d.kafka.Partitions(ctx, topic)
		if err != nil {
			return err
		}
		return d.kafka.Widen(ctx, topic, n+1)
	}))
}

func (d *Deployment) ofDatabase() []fault.Fault {
	primary := func() *stack.Process { return d.database.primary.Process }
	standby := func() *stack.Process { return d.database.standby.Process }
	all := []fault.Fault{
		onDatabase("kill", 100*time.Millisecond, time.Second,
			func(context.Context) error { return d.database.primary.Kill() },
			func(ctx context.Context) error { return d.database.primary.Start(ctx) }),
		frozen("freeze", "database", 2*time.Second, primary),
		// The next three are the event that comes before its row can be read.
		frozen("standby frozen", "database", 500*time.Millisecond, standby),
		frozen("standby frozen for 10Δ", "database", 10*part.Delta, standby),
		onDatabase("standby away", 2*time.Second, 3*time.Second,
			func(ctx context.Context) error { return d.database.waitFor(ctx, nobody) },
			func(ctx context.Context) error { return d.database.waitFor(ctx, second) }),
	}
	if d.connect != nil { // whose slot does not move to another server, and whose checkpoints are rows
		return all
	}
	return append(all,
		onDatabase("forged checkpoints", time.Second, 2*time.Second, d.forge, d.forge),
		d.failover(),
		d.survivor())
}

// forge writes what looks like a checkpoint of a time to come, as any role
// may.
func (d *Deployment) forge(ctx context.Context) error {
	const message = `SELECT pg_logical_emit_message(true, 'freshet', '\x01'::bytea || '\x0123456789abcdef'
		|| int8send((extract(epoch FROM clock_timestamp() + '1 hour') * 1e9)::bigint) || '\x0000000000000000' || '\x0000000000000000')`
	return d.database.exec(ctx, "SET ROLE stranger", "SET synchronous_commit = local", message)
}

// ofWay are those between a client and the database.
func (d *Deployment) ofWay(client string) []fault.Fault {
	on := func(name string, least, most time.Duration, disturb func(*stack.Forwarder)) fault.Fault {
		with := func(f func(*stack.Forwarder)) func(context.Context) error {
			return func(context.Context) error {
				w, err := d.database.way(client)
				if err == nil {
					f(w)
				}
				return err
			}
		}
		f := part.Lasting(name, client, least, most, with(disturb), with((*stack.Forwarder).Pass))
		f.Parts = append(f.Parts, "database") // which may lead the way elsewhere
		return f
	}
	slow := func(by time.Duration) fault.Fault {
		return on(fmt.Sprintf("database slower by %v", by), time.Second, 2*time.Second, func(w *stack.Forwarder) { w.Delay(by) })
	}
	return []fault.Fault{
		on("black hole to the database", time.Second, 3*time.Second, (*stack.Forwarder).Hold),
		on("cut from the database", time.Second, 2*time.Second, (*stack.Forwarder).Cut),
		slow(part.Delta / 10),
		slow(part.Delta),
	}
}
