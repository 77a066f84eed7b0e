package doctor

import (
	"context"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
)

// Options say how closely to look, and where else than the configuration
// says.
type Options struct {
	Watch     time.Duration // how long each topic is watched; 0: not at all
	Outage    time.Duration // the longest for which a node, a relay or Kafka is planned to be away
	Nodes     []string      // admin ports of nodes; none: node.admin
	Relays    []string      // admin ports of relays; none: relay.admin
	Connect   string        // Kafka Connect's REST interface; "": none
	Connector string        // file of a connector's settings; "": none
}

// patience is how long anything may take to answer. Whatever is away costs that
// much, and the rest is looked at meanwhile.
const patience = 5 * time.Second

// Gather finds out what there is to know of a deployment. It writes nothing. It
// ends by itself after the time to watch and some multiple of patience, or with
// ctx.
func Gather(ctx context.Context, c *config.Config, o Options) *Facts {
	g := &gatherer{facts: &Facts{Config: c, Outage: o.Outage}, options: o, reach: node.ReachOf(c)}
	g.reach.Postgres.ConnectTimeout, g.reach.Log.ConnectTimeout = patience, patience
	g.reach.Postgres.StatementTimeout = patience
	g.connectors(ctx) // what a connector calls its slot is looked for in the database
	g.together(ctx, g.source, g.accepted, g.shippable, g.replicas, g.clockAndTopics, g.nodes, g.relays)
	return g.facts
}

// gatherer fills facts. Each of its steps has fields of its own.
type gatherer struct {
	facts   *Facts
	options Options
	reach   node.Reach
}

func (g *gatherer) together(ctx context.Context, steps ...func(context.Context)) {
	var all sync.WaitGroup
	for _, step := range steps {
		all.Go(func() { step(ctx) })
	}
	all.Wait()
}

// impatient gives a step of several questions its time.
func impatient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 3*patience)
}
