package embedded

import (
	"context"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
)

// Faults are all that can be done to this deployment.
func (d *Deployment) Faults(change part.Change) []fault.Fault {
	faults := slices.Concat(d.OfRelay(), d.OfImages(), d.ofBroker(), d.OfClock())
	faults = append(faults, d.failover())
	faults = append(faults, part.OfTable(change)...)
	faults = append(faults, d.OfTier()...)
	for i, n := range d.Members {
		faults = append(faults, d.OfNode(i)...)
		if i > 0 {
			faults = append(faults, d.Forgotten(n, d.broker.Name(), d.broker.Order("forget", 0))...)
			faults = append(faults, d.Suspended(i), d.Beyond(i))
		}
	}
	return faults
}

func (d *Deployment) ofBroker() []fault.Fault {
	b, count := d.broker, part.Partitions
	return []fault.Fault{
		b.Death(d.startBroker),
		b.Freeze("freeze", 2*time.Second),
		b.Freeze("freeze for 3Δ", 3*part.Delta),
		part.Once("partition added", b.Name(), 2*time.Second, func(ctx context.Context) error {
			count++
			return b.Order("widen", int64(count))(ctx)
		}),
		part.Once("topic made anew", b.Name(), 2*time.Second, func(ctx context.Context) error {
			return b.Order("recreate", int64(count))(ctx)
		}),
	}
}
