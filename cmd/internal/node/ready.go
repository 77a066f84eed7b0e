package node

import (
	"context"
	"time"

	"github.com/freshet-cache/freshet/cache"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/proxy"
)

// problems says what keeps this node from being all that it can be: nothing,
// once the clock and the source are there, the stream is followed from known
// positions, each partition has had a checkpoint, and the watermark moves.
func (n *Node) problems() []string {
	var out []string
	if p := n.prober.problem(); p != "" {
		out = append(out, p)
	}
	if lo, _ := n.clock.Bounds(); lo == proxy.Never {
		out = append(out, "clock: the source's clock is not known yet")
	}
	if p := n.streamProblem(); p != "" {
		out = append(out, "stream: "+p)
	}
	return out
}

// streamProblem says what the stream lacks first: the applier cannot have what
// the tail has not brought, and without both there is no watermark.
func (n *Node) streamProblem() string {
	if ok, why := n.tail.CaughtUp(); !ok {
		return why
	}
	if why := n.connectorProblem(); why != "" {
		return why
	}
	if ok, why := n.applier.CaughtUp(); !ok {
		return why
	}
	w := n.watermark.Load()
	if w == proxy.Never {
		return "its checkpoints are not of the primary that was found"
	}
	// Whatever is away, silent or slow between the source and here shows in
	// the watermark, and in nothing else for sure: a connection that is cut
	// without a word brings no error.
	if _, hi := n.clock.Bounds(); hi != proxy.Forever && hi.Sub(w) > n.standstill() {
		return "the watermark is " + proxy.AgeText(hi, w) + " old: " + n.shipper() + " or Kafka is away, or they are slow"
	}
	return ""
}

// shipper is who ships the changes.
func (n *Node) shipper() string {
	if n.connector != nil {
		return "the connector"
	}
	return "the relay"
}

// standstill is the age from which a watermark is told as a problem: the bound
// that use cases have by default, which the stream then no longer carries, or
// where checkpoints are rare, the time of some of them.
func (n *Node) standstill() time.Duration {
	return max(cache.DefaultBound, 10*time.Duration(n.config.Relay.CheckpointInterval))
}

// ready reports whether clients may be sent here, and what is wrong.
//
// A node is ready once it has been without problems. It stays so when the
// stream or the source goes away later: all nodes lose them at once, and to
// take all of them out of service would make an outage of what the contract
// carries (entries then live on their own as-of). So a problem later is told,
// but only draining ends readiness. What is wrong with the tier keeps no node
// from serving: it answers for every key, if need be alone.
func (n *Node) ready() (bool, []string) {
	problems := n.problems()
	if len(problems) == 0 {
		n.wasReady.Store(true)
	}
	problems = append(problems, n.tier.problems()...)
	if n.draining.Load() {
		return false, append([]string{"node: draining"}, problems...)
	}
	return n.wasReady.Load(), problems
}

// Ready waits until the node is ready, or ctx ends.
func (n *Node) Ready(ctx context.Context) error {
	for {
		if ok, _ := n.ready(); ok {
			return nil
		}
		if !pause.For(ctx, 2*time.Millisecond) {
			return ctx.Err()
		}
	}
}
