package cdc

import (
	"sync"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// partition is where one partition stands. All but shown belongs to the one
// goroutine that brings its records.
type partition struct {
	id      int
	decoder event.Decoder

	stream   uint64         // the stream of mark; 0: none yet
	mark     proxy.Position // of the highest applied record of that stream
	anchored bool           // prev must not lie beyond mark

	checkPosition proxy.Position // of the last checkpoint of that stream
	checkT        proxy.Time     // of the last one that was believed
	checkFalls    uint64         // the falls before it: a later one makes checkT void
	debt          int            // clean checkpoints to come before it is trusted again
	heard         uint64         // the stream of the last checkpoint that counted since attach
	foreign       foreign        // of a stream that others ship

	now      proxy.Time // src_hi when it was last needed
	nowFalls uint64     // the falls before that

	record        proxy.Record // the one being applied
	before, after []byte       // keys being built
	image         proxy.Image

	mu    sync.Mutex
	shown PartitionStatus
}

// place says how a record continues its partition.
type place uint8

const (
	next   place = iota
	hole         // records before it are missing
	lie          // it claims to lie before its predecessor
	repeat       // it was applied before
)

// placeOf compares a record with the mark. The first record after an attach
// or of a new stream anchors the chain: nobody knows its predecessor.
func (p *partition) placeOf(r *event.Record) place {
	switch {
	case p.anchored && r.Prev.Compare(p.mark) > 0 && !hook.Mutant(hook.HolesIgnored):
		return hole
	case r.Position.Compare(r.Prev) <= 0 && !hook.Mutant(hook.OrderByRow):
		return lie
	case r.Position.Compare(p.mark) <= 0:
		return repeat
	}
	return next
}

// restart forgets what belongs to the stream that was left.
func (p *partition) restart(stream uint64) {
	p.stream, p.mark, p.anchored = stream, proxy.Position{}, false
	p.checkPosition, p.checkT, p.checkFalls = proxy.Position{}, proxy.Never, 0
	p.now = proxy.Never
	p.heard = 0
	p.foreign.rows, p.foreign.again = map[int64]uint64{}, false
}

// publish shows others where the partition stands.
func (p *partition) publish(offset int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = PartitionStatus{Offset: offset, Stream: p.stream, Mark: p.mark, Checkpoint: p.checkT, Heard: p.heard}
}
