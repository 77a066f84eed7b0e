package conform

import (
	"context"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
	"github.com/freshet-cache/freshet/cmd/internal/conform/live"
	"github.com/freshet-cache/freshet/cmd/internal/conform/load"
	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
)

// Live is a run against a deployment that is there already. A verdict with an
// error is one on a run whose database could not be left as it was.
func Live(ctx context.Context, o Options, c *config.Config) (*check.Verdict, error) {
	o.live = &c.Conform
	stop := context.AfterFunc(ctx, func() {
		o.Log.Warn("interrupted: what was begun is ended, and the database left as it was, which takes a minute or two if it is away; a second interrupt ends at once, and leaves that undone")
	})
	defer stop()
	return o.run(ctx, func(p part.Options) (deployment, error) {
		return live.Open(ctx, live.Options{Config: c, Out: o.Out, Log: o.Log})
	})
}

// asConfigured changes a load to what the configuration of a deployment says.
func asConfigured(l *load.Options, c *config.Conform) {
	l.Keys, l.Writers, l.Readers = c.Rows, c.Writers, c.Readers
	l.User, l.Password = c.User, c.Password.Value()
}
