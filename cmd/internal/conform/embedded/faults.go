package embedded

import (
	"context"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
	"github.com/freshet-cache/freshet/cmd/internal/conform/pause"
)

// Faults are all that can be done to this deployment.
func (d *Deployment) Faults(change part.Change) []fault.Fault {
	faults := slices.Concat(d.OfRelay(), d.OfImages(), d.ofBroker(), d.ofSource())
	faults = append(faults, part.OfTable(change)...)
	for i, n := range d.Members {
		faults = append(faults, d.OfNode(i)...)
		if i > 0 {
			faults = append(faults, d.forgotten(n), d.farAway(n), d.Suspended(i), d.Beyond(i))
		}
	}
	return faults
}

func (d *Deployment) ofBroker() []fault.Fault {
	b, count := d.broker, part.Partitions
	return []fault.Fault{
		b.Death(d.startBroker),
		b.Freeze("freeze", 2*time.Second),
		part.Once("partition added", b.Name(), 2*time.Second, func(ctx context.Context) error {
			count++
			return b.Order("widen", int64(count))(ctx)
		}),
		part.Once("topic made anew", b.Name(), 2*time.Second, func(ctx context.Context) error {
			return b.Order("recreate", int64(count))(ctx)
		}),
	}
}

// forgotten cuts the log under a node that is frozen.
func (d *Deployment) forgotten(n *part.Process) fault.Fault {
	f := part.Lasting("log cut under a frozen node", n.Name(), 500*time.Millisecond, time.Second,
		func(ctx context.Context) error {
			if err := n.Pause(); err != nil {
				return err
			}
			return d.broker.Order("forget", 0)(ctx)
		}, func(context.Context) error { return n.Resume() })
	f.Parts = append(f.Parts, d.broker.Name())
	return f
}

// farAway cuts the log under a node that is frozen, and whose broker is far
// away when it looks for its place again.
func (d *Deployment) farAway(n *part.Process) fault.Fault {
	f := d.forgotten(n)
	f.Name += " far from its broker"
	f.Least, f.Most = 4*time.Second, 4*time.Second
	cut, woken := f.Begin, f.End
	f.Begin = func(ctx context.Context) error {
		if err := cut(ctx); err != nil {
			return err
		}
		w, err := d.Front.Way(n.Name())
		if err != nil {
			return err
		}
		w.Delay(part.Delta / 4)
		pause.For(ctx, part.Delta/2)
		return woken(ctx)
	}
	f.End = d.Passing(n.Name())
	return f
}
