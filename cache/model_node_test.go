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
	next      [modelPartitions]int
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

// reattach is a gap as the tail sees it, in the order of the contract.
func (n *modelNode) reattach(w *model, reason string) {
	w.note("lost: %s", reason)
	w.inApply = true // no record comes in between
	n.applier.Lost(reason)
	w.meanwhile(2)
	for p := range n.next {
		n.next[p] = len(w.source.logs[p])
	}
	n.applier.Attached(modelPartitions)
	for p, log := range w.source.logs {
		if last := len(log) - 1; last >= 0 {
			n.applier.Record(p, int64(last), nil, log[last])
		}
	}
	w.inApply = false
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
