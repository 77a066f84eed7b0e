package peer

import (
	"fmt"
	"sync/atomic"
	"time"
)

// reach is what a node knows of its way to a peer beside its connections.
type reach struct {
	failed  atomic.Bool   // the newest connection was lost, or could not be made
	table   atomic.Uint64 // checksum of the table of owners that the peer told last; 0: none
	differs atomic.Int64  // since when that is another than this node's, in ns since 1970; 0: it is not
}

// longApart is how long two tables differ until that is told as a problem: what
// nodes that hear of each other late disagree on is over by then.
const longApart = time.Minute

// Lost reports whether the peer was lost or cannot be connected. One that is not
// tried yet is not lost, nor is one that has said goodbye, until the next attempt
// has failed.
func (p *Peer) Lost() bool { return p.failed.Load() && len(*p.conns.Load()) == 0 }

// Doubted reports whether the peer may not answer a client that is sent to it, or
// may send it back: its breaker is open, or its table of owners, as it said last,
// is another than this node's.
func (p *Peer) Doubted() bool {
	if p.breaker.isOpen.Load() {
		return true
	}
	said := p.table.Load()
	_, own := p.pool.ring()
	return said != 0 && said != own
}

// Changes is another number whenever connections have come or gone.
func (p *Pool) Changes() uint64 { return p.changes.Load() }

// told notes the table of owners that the peer has told, which is as old as the
// connection's keep-alive at most, and counts it if it differs from this node's.
func (p *Peer) told(its ring) {
	p.table.Store(its.checksum)
	if _, own := p.pool.ring(); its.checksum == own {
		p.differs.Store(0)
		return
	}
	p.differs.CompareAndSwap(0, time.Now().UnixNano())
	p.pool.metrics.disagreements.Inc()
}

// disagreement says that the two nodes have had two tables for long; "": not.
func (p *Peer) disagreement(now time.Time) string {
	since := p.differs.Load()
	if since == 0 || len(*p.conns.Load()) == 0 || now.Sub(time.Unix(0, since)) < longApart {
		return ""
	}
	return fmt.Sprintf("peer at %s: has another table of owners than this node, for more than %v: are tier.placement and the list of members the same at both?", p.address, longApart)
}
