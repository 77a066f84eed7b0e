package part

import (
	"context"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
)

// OfTier are what nodes of a tier do when nothing is wrong with them: each is
// ended in order and started again, one after the other; and the last one
// leaves, is gone for longer than nodes are waited for, and joins as a new one.
// None, where the nodes are no tier.
func (t *Tier) OfTier() []fault.Fault {
	if !t.opts.Tier || len(t.Members) < 2 {
		return nil
	}
	rolling := Once("rolling restart", "tier", time.Second, t.roll)
	rolling.Parts = t.Nodes()
	last := t.Members[len(t.Members)-1]
	return []fault.Fault{
		rolling,
		Lasting("leave and join", last.name, 3*time.Second, 4*time.Second,
			func(context.Context) error { return last.End() }, last.Start),
	}
}

func (t *Tier) roll(ctx context.Context) error {
	for _, n := range t.Members {
		if err := n.End(); err != nil {
			return err
		}
		if err := n.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}
