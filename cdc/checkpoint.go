package cdc

import (
	"time"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

const (
	// commitSkew is how far commit times may be out of order: on a healthy
	// PostgreSQL they were up to 7 ms; a second is far above that and far
	// below what a human calls fresh.
	commitSkew = time.Second
	// cleanCheckpoints is how many must come before one that lied is believed
	// again: at the default interval, a second of good behaviour.
	cleanCheckpoints = 10
)

// checkpoint takes in a checkpoint of the partition's stream.
func (a *Applier) checkpoint(p *partition, r *event.Record, at place) {
	switch at {
	case lie:
		a.lied(p, r)
		a.metrics.checkpoint(checkpointLie)
	case repeat:
		a.metrics.checkpoint(checkpointRepeat)
	default:
		a.learn(r)
		if a.miscounted(r) {
			a.gap(gapPartitions, a.wm.fall)
		}
		p.checkPosition = r.Position
		a.metrics.checkpoint(a.believe(p, r))
	}
}

// believe raises what the partition has reached, if the checkpoint's time can
// be believed.
func (a *Applier) believe(p *partition, r *event.Record) checkpointOutcome {
	c, falls := r.Checkpoint, a.falls.Load()
	_, now := a.clock.Bounds()
	switch {
	case now == proxy.Forever:
		return checkpointUnchecked // nobody can say yet whether it lies
	case c.T > now:
		a.distrust(p)
		return checkpointLie
	case p.checkFalls == falls && c.T < p.checkT:
		return checkpointBack
	}
	p.checkT, p.checkFalls = c.T, falls
	counts := a.wm.checkpoint(p.id, r.Stream, c, now)
	if p.debt > 0 {
		p.debt--
		if p.debt == 0 {
			a.wm.trust()
		}
	}
	if !counts {
		return checkpointOther
	}
	p.heard = r.Stream
	return checkpointCounted
}

// miscounted reports, once for each stream, that it has another number of
// partitions than this node follows.
func (a *Applier) miscounted(r *event.Record) bool {
	if r.Checkpoint.Stream.Partitions == len(*a.parts.Load()) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counted == r.Stream {
		return false
	}
	a.counted = r.Stream
	return true
}

// lied takes in a record that lies about its place. If it lies before a
// checkpoint, that one said more than was true.
func (a *Applier) lied(p *partition, r *event.Record) {
	a.metrics.lies.Inc()
	a.log.Warn("record lies before its predecessor", "partition", p.id)
	if r.Position.Compare(p.checkPosition) < 0 {
		a.distrust(p)
	}
}

// doubt compares a change's commit time with the last checkpoint before it:
// every change visible at T stands in front of that.
func (a *Applier) doubt(p *partition, c *event.Change) {
	if a.doubtful(p, c) {
		a.metrics.lies.Inc()
		a.distrust(p)
	}
}

func (a *Applier) doubtful(p *partition, c *event.Change) bool {
	told := c.Commit != 0 && c.Commit != proxy.Never
	known := p.checkT != proxy.Never && p.checkFalls == a.falls.Load()
	return told && known && c.Commit < p.checkT.Add(-commitSkew)
}

// distrust holds the watermark until clean checkpoints have come.
func (a *Applier) distrust(p *partition) {
	a.log.Warn("checkpoint cannot be believed: the watermark holds", "partition", p.id)
	if p.debt == 0 {
		a.wm.hold()
	}
	p.debt = cleanCheckpoints
}

// forgive ends a distrust whose stream or partition is gone.
func (a *Applier) forgive(p *partition) {
	if p.debt > 0 {
		a.wm.trust()
	}
	p.debt = 0
	a.acquit(p)
}
