package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/conform/client"
	"github.com/freshet-cache/freshet/cmd/internal/conform/load"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
)

// try writes a row in the database, and writes and reads it through every node,
// before anything is written down: rights that are missing, and a node that
// stands on another database, are told here and not by a thousand reads.
func (d *Deployment) try(ctx context.Context) (err error) {
	conn, err := d.db.Connect(ctx)
	if err != nil {
		return fmt.Errorf("the database: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	t := trial{d: d, conn: conn, id: 4 * d.opts.Config.Conform.Rows} // a row that no run uses
	for i := range d.opts.Config.Conform.Nodes {
		n := &d.opts.Config.Conform.Nodes[i]
		t.value++
		if _, err := conn.Transact(ctx, []table.Change{{Op: table.Put, ID: t.id, Value: t.value}}, false); err != nil {
			return fmt.Errorf("the database: %w", err)
		}
		if err := t.node(ctx, n); err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	return d.db.Clear(ctx)
}

// trial is one row, and the number of the value that was written to it last.
type trial struct {
	d     *Deployment
	conn  table.Conn
	id    int
	value uint64
}

func (t *trial) node(ctx context.Context, n *config.ConformNode) error {
	c, err := t.d.dial(ctx, n)
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range t.d.useCases {
		if err := t.read(ctx, c, &t.d.useCases[i]); err != nil {
			return err
		}
	}
	return t.write(ctx, c)
}

// read finds whether a node has the same use case over the same database.
func (t *trial) read(ctx context.Context, c *client.Client, u *load.UseCase) error {
	r, err := available(ctx, c, "FRESHET.GET", u.Key(t.id), "STRONG")
	if err != nil {
		return fmt.Errorf("it does not answer %s: %w: mend that first", u.Key(t.id), err)
	}
	if value, ok := u.Value(r.Text, t.id); r.Null || !ok || value != t.value {
		return fmt.Errorf("it answers %s with %.20q, where the database of the configuration says %.20q: give both the same database, and the same use case", u.Key(t.id), r.Text, table.Text(t.id, t.value))
	}
	return nil
}

// available asks again, for a while, where the database did not answer in time:
// it has others to answer too.
func available(ctx context.Context, c *client.Client, args ...string) (r client.Reply, err error) {
	for deadline := time.Now().Add(untilWell); ; {
		r, err = c.Do(args...)
		var refused client.Refusal
		if !errors.As(err, &refused) || !strings.HasPrefix(string(refused), "UNAVAILABLE") || time.Now().After(deadline) || !pause.For(ctx, askAgain) {
			return r, err
		}
	}
}

// write writes and deletes through a node, by the use case that can be written.
func (t *trial) write(ctx context.Context, c *client.Client) error {
	for i := range t.d.useCases {
		u := &t.d.useCases[i]
		if !u.Writable {
			continue
		}
		t.value++
		if err := t.change(ctx, c, u, "SET", u.Key(t.id), table.Text(t.id, t.value)); err != nil {
			return err
		}
		_, err := t.conn.Find(ctx, t.id, t.value)
		if errors.Is(err, table.ErrNotLogged) {
			return fmt.Errorf("what it has written to %s is not in the database of the configuration: give both the same one", u.Key(t.id))
		}
		if err != nil {
			return err
		}
		return t.change(ctx, c, u, "DEL", u.Key(t.id))
	}
	return nil
}

func (t *trial) change(ctx context.Context, c *client.Client, u *load.UseCase, args ...string) error {
	if _, err := available(ctx, c, args...); err != nil {
		return fmt.Errorf("it does not write %s: %w: give the user of conform.user the right to write use case %s, and the database's role of the nodes that to change %s", u.Key(t.id), err, u.Name, table.Rows)
	}
	return nil
}
