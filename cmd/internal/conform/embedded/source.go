package embedded

import (
	"context"
	"errors"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// failover makes the file another primary's. The old one lives on for a while,
// with its relay: that has no more changes to tell, and says that it has told
// all.
//
//  1. nobody may write, and the old relay has shipped all there is
//  2. from now on it appends nothing but checkpoints
//  3. the file is another primary's, and others may write
//
// The new primary's relay is the one that had to wait since 2.
func (d *Deployment) failover() fault.Fault {
	f := part.Lasting("failover and a survivor", "source", 2*time.Second, 3*time.Second, d.promote, d.Relay.Order("die", 0))
	f.Parts = append(f.Parts, d.Relay.Name(), d.broker.Name())
	return f
}

func (d *Deployment) promote(ctx context.Context) (err error) {
	const patience = 30 * time.Second
	c, err := sqlite.Dial(ctx, d.db.Path, patience)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for deadline := time.Now().Add(patience); ; {
		if err := d.supersede(ctx, c); !errors.Is(err, part.ErrNotThere) || time.Now().After(deadline) {
			return err
		}
		// The relay has to write itself before it goes on, where a table's columns
		// have just changed; SQLite gives the next turn to anybody.
		if !pause.For(ctx, 200*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// supersede makes the file another primary's, with nobody writing.
func (d *Deployment) supersede(ctx context.Context, c *sqlite.Conn) error {
	return c.Update(ctx, func() error {
		var end int64
		if err := c.Row(ctx, []any{&end}, "SELECT coalesce(max(seq), 0) FROM "+sqlite.OutboxTable); err != nil {
			return err
		}
		if err := d.Relay.Order("reach", end)(ctx); err != nil {
			return err
		}
		if err := d.Relay.Order("survive", 0)(ctx); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "UPDATE "+sqlite.StreamTable+" SET incarnation = incarnation + 1")
		return err
	})
}
