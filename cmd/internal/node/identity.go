package node

import (
	"context"

	"github.com/freshet-cache/freshet/proxy"
)

// identified is a probe that notes which database has answered. Nodes of a tier
// compare that before they answer for each other: two whose configurations are
// alike could read two databases, and the rows of one are wrong answers of the
// other. A node that does not know its own yet joins nobody, and says so.
//
// What is compared outlives a failover: the standby that is promoted has the
// system identifier of its primary, on another timeline. Where a tier is moved to
// another system, its nodes find that out one by one, and meanwhile a node that
// starts may have to wait for some of them.
func (n *Node) identified(ask Probe) Probe {
	return func(ctx context.Context) (proxy.Identity, proxy.Time, error) {
		id, t, err := ask(ctx)
		if err == nil && id.Known() {
			n.system.Store(id.System)
		}
		return id, t, err
	}
}

// know asks the source which database it is, before others ask this node. One
// that does not say is asked again by the prober.
func (n *Node) know(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if _, _, err := n.identified(n.source.Probe)(ctx); err != nil {
		n.log.Info("the source does not say yet which database it is", "error", err)
	}
}
