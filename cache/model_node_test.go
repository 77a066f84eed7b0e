package cache

import (
	"log/slog"
	"time"

	"github.com/freshet-cache/freshet/cdc"
	"github.com/freshet-cache/freshet/proxy"
)

// modelNode is a node: the real cache and the real applier.
type modelNode struct {
	*Cache
	applier   *cdc.Applier
	watermark *cdc.Watermark
	next      []int // offsets, of the partitions that it knows
}

// newModelNode starts a node: everything in its memory is new.
func newModelNode(catalog *proxy.Catalog, bits uint) *modelNode {
	n := &modelNode{watermark: cdc.NewWatermark()}
	clock := &modelClock{}
	u := UseCase{Bound: time.Duration(modelBound), TTLMax: time.Duration(modelTTL)}
	var err error
	n.Cache, err = build(catalog, nil, n.watermark, clock, Options{UseCases: []UseCase{u, u}}, bits, forgetfulMemory)
	if err != nil {
		panic(err)
	}
	n.applier = cdc.NewApplier(catalog, n.Cache, n.watermark, clock, slog.New(slog.DiscardHandler))
	return n
}

// attachTo points a node at a model's world, at the end of its log.
func (n *modelNode) attachTo(w *model) {
	n.Cache.next = w.source
	n.Cache.clock.(*modelClock).w = w
	for _, s := range n.Cache.stores {
		s.(*forgetfulStore).rng = w.rng
	}
	n.reattach(w, "attached")
}

// at is the offset of a partition up to which the node has read.
func (n *modelNode) at(p int) int {
	if p < len(n.next) {
		return n.next[p]
	}
	return 0
}

// reattach is a gap as the tail sees it, in the order of the contract: it asks
// where each log ends, reads the last record of each, and then says that it is
// attached. Others move in between, the topic itself among them.
func (n *modelNode) reattach(w *model, reason string) {
	w.note("lost: %s", reason)
	w.inApply = true // no record comes in between
	defer func() { w.inApply = false }()
	n.applier.Lost(reason)
	w.meanwhile(2)
	lasts := n.lasts(w)
	n.applier.Attached(len(lasts))
	for p, last := range lasts {
		if last != nil {
			n.applier.Record(p, int64(n.next[p]-1), nil, last)
		}
	}
}

// lasts establishes the position in every partition, and returns what each
// ended with; nil where it was empty.
func (n *modelNode) lasts(w *model) [][]byte {
	for {
		ends := make([]int, len(w.source.logs))
		for p, log := range w.source.logs {
			ends[p] = len(log)
		}
		w.meanwhile(3)
		if w.rng.IntN(8) == 0 && !w.calm {
			w.source.remake()
		}
		lasts := make([][]byte, len(ends))
		n.next = ends
		short := false
		for p, end := range ends {
			log := w.source.logs[p]
			short = short || len(log) < end
			if end > 0 && len(log) >= end {
				n.next[p], lasts[p] = len(log), log[len(log)-1]
			}
		}
		if !short {
			return lasts
		}
	}
}

// recount is the tail looking for new partitions.
func (n *modelNode) recount(w *model) {
	if len(w.source.logs) != len(n.next) {
		w.stats.gaps++
		n.reattach(w, "partitions added")
	}
}

// modelClock is an interval around the model's time, wide or narrow.
type modelClock struct{ w *model }

func (c *modelClock) Bounds() (lo, hi proxy.Time) {
	return c.w.now - c.w.slack[0], c.w.now + c.w.slack[1]
}

func (w *model) redrawClock() {
	defer func() { w.note("clock -%d +%d", w.slack[0]/unit, w.slack[1]/unit) }()
	w.slack = [2]proxy.Time{proxy.Time(w.rng.IntN(4)) * unit, proxy.Time(w.rng.IntN(4)) * unit}
}
