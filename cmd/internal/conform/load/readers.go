package load

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/cmd/internal/conform/client"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
)

// The numbers of goroutines' luck: each kind has a range of its own.
const (
	luckReaders  = 1 << 20
	luckSessions = 2 << 20
	luckProbes   = 3 << 20
	luckEchoes   = 4 << 20
	luckSwings   = 5 << 20
	luckShadows  = 6 << 20
)

// Read reads from all nodes until ctx ends.
func (l *Load) Read(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for i, node := range l.tier.Nodes() {
		for j := range l.opts.Readers {
			d := l.keys.draw(l.opts.Seed, uint64(luckReaders+i*1000+j))
			g.Go(func() error { return l.reader(ctx, node, d) })
		}
		for j := range l.opts.Sessions {
			number := i*l.opts.Sessions + j
			d := l.keys.draw(l.opts.Seed, uint64(luckSessions+number))
			g.Go(func() error { return l.sessionClient(ctx, number, node, d) })
		}
		for j := range shadows {
			d := l.keys.draw(l.opts.Seed, uint64(luckShadows+i*shadows+j))
			g.Go(func() error { return l.shadow(ctx, node, d) })
		}
		swings := l.keys.draw(l.opts.Seed, uint64(luckSwings+i))
		g.Go(func() error { return l.swing(ctx, i, node, swings) })
		if l.writable() != nil {
			for j := range echoes {
				d := l.keys.draw(l.opts.Seed, uint64(luckEchoes+i*echoes+j))
				g.Go(func() error { return l.echo(ctx, node, d) })
			}
		}
	}
	for i := range l.useCases {
		d := l.keys.draw(l.opts.Seed, uint64(luckProbes+i))
		g.Go(func() error { return l.probe(ctx, &l.useCases[i], d) })
	}
	return g.Wait()
}

// reader reads from one node, on one connection as long as that lasts.
func (l *Load) reader(ctx context.Context, node string, d *draw) error {
	log := l.history.Log()
	var c *client.Client
	defer func() {
		if c != nil {
			c.Close()
		}
	}()
	for pause.For(ctx, d.around(l.opts.ReadPause)) {
		if c == nil {
			if c = l.dial(ctx, node); c == nil {
				continue
			}
		}
		whole, err := l.pipeline(c, log, node, l.draw(d))
		if err != nil {
			return err
		}
		if !whole || d.IntN(2000) == 0 {
			c.Close()
			c = nil
		}
	}
	return log.Flush()
}

// pipeline sends commands at once and writes down what each of their keys was
// answered. It reports false if the connection was lost on the way; the error
// is that of the history.
func (l *Load) pipeline(c *client.Client, log *history.Log, node string, commands []command) (whole bool, err error) {
	for i := range commands {
		c.Queue(commands[i].args...)
	}
	invoked := now()
	whole = c.Flush() == nil
	for i := range commands {
		cmd := &commands[i]
		var reply client.Reply
		if whole {
			var lost error
			reply, lost = c.Receive()
			whole = lost == nil
		}
		answered := now()
		for j := range cmd.reads {
			r := &cmd.reads[j]
			r.Node, r.Invoked, r.Answered = node, invoked, answered
			if !whole {
				r.Trouble = history.Lost
			} else {
				cmd.understand(&reply, j)
			}
			if err := log.Read(&r.Read); err != nil {
				return false, err
			}
		}
	}
	return whole, nil
}
