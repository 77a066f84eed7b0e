package part

import (
	"context"
	"errors"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/pause"
)

// OfImages are those of how changes look: as other databases' logs have them.
func (t *Tier) OfImages() []fault.Fault {
	r := t.Relay
	return []fault.Fault{
		r.while("images in between", 2*time.Second, 3*time.Second, "between", 1),
		r.while("images incomplete", time.Second, 2*time.Second, "incomplete", 1),
		r.while("deletes as truncates", 2*time.Second, 3*time.Second, "truncates", 1),
		Once("forged checkpoint", r.name, 500*time.Millisecond, r.Order("forge", 0)),
	}
}

// Beyond has node i told positions that are too high by far, as by a database
// that only knows where its log ends.
func (t *Tier) Beyond(i int) fault.Fault {
	return t.Members[i].while("positions beyond", 2*time.Second, 3*time.Second, "beyond", 1000)
}

// Suspended has the machine of node i sleep for 3 Δ. When it wakes, its
// connections take a while.
func (t *Tier) Suspended(i int) fault.Fault {
	const slept = 3 * Delta
	n := t.Members[i]
	f := t.Hole("machine suspended", n.name)
	f.Least, f.Most = Delta/2, Delta
	hold, pass := f.Begin, f.End
	f.Begin = func(ctx context.Context) error {
		// What is under way when it falls asleep is not answered as soon as it wakes.
		if err := errors.Join(n.Order("slow", int64(slept+Delta/2))(ctx), hold(ctx), n.Order("slept", int64(slept))(ctx), n.Pause()); err != nil {
			return err
		}
		pause.For(ctx, slept)
		return errors.Join(n.Resume(), n.Order("slow", int64(Delta/2))(ctx))
	}
	f.End = func(ctx context.Context) error { return errors.Join(n.Order("slow", 0)(ctx), pass(ctx)) }
	return f
}
