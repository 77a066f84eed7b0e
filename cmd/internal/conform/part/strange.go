package part

import (
	"context"
	"errors"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
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

// Forgotten cuts the log under a node that is frozen; and once more, with a
// broker that is far away when the node looks for its place again.
func (t *Tier) Forgotten(n *Process, broker string, forget func(context.Context) error) []fault.Fault {
	near := Lasting("log cut under a frozen node", n.name, 500*time.Millisecond, time.Second,
		func(ctx context.Context) error {
			if err := n.Pause(); err != nil {
				return err
			}
			return forget(ctx)
		}, func(context.Context) error { return n.Resume() })
	near.Parts = append(near.Parts, broker)

	far := near
	far.Name += " far from its broker"
	far.Least, far.Most = 4*time.Second, 4*time.Second
	far.Begin = func(ctx context.Context) error {
		if err := near.Begin(ctx); err != nil {
			return err
		}
		w, err := t.Front.Way(n.name)
		if err != nil {
			return err
		}
		w.Delay(Delta / 4)
		pause.For(ctx, Delta/2)
		return near.End(ctx)
	}
	far.End = t.Passing(n.name)
	return []fault.Fault{near, far}
}
