package cdc

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

// Cache is what the applier drives.
type Cache interface {
	// Change bumps the stamp of key. If image is not nil and the entry was
	// valid just before and older than image, it is replaced; in every other
	// case it is dropped. from is told to those who ask what happened to the
	// key. key.Text and image are the caller's to reuse afterwards; what
	// image.Row refers to is not.
	Change(key proxy.Key, image *proxy.Image, from proxy.Record)
	// Void bumps the epoch of a use case: everything it holds is gone.
	Void(u *proxy.UseCase)
}

// Tap sees the changes of rows and tables that an applier takes in.
type Tap interface {
	// Change is called before r is applied, on the goroutine that brings it. It
	// must not block, nor keep r.
	Change(from proxy.Record, r *event.Record)
}

// Clock bounds the source's clock now.
type Clock interface {
	Bounds() (lo, hi proxy.Time)
}

// Applier applies one source's change stream to a cache.
type Applier struct {
	catalog *proxy.Catalog
	cache   Cache
	wm      *Watermark
	clock   Clock
	log     *slog.Logger
	metrics *metrics
	tap     Tap // or nil

	missing func() // see OnMissing

	parts atomic.Pointer[[]*partition]
	falls atomic.Uint64 // tells what was learnt before a gap from what is behind it
	gaps  atomic.Uint64 // falls, but for those at the start of a partition

	mu      sync.Mutex
	streams map[uint64]proxy.Identity // the source of each stream that told it
	counted uint64                    // the stream whose partition count was a gap already
	lost    string                    // why the position is not known; empty: it is
	kept    []Kept
}

// NewApplier returns an applier that raises wm. It is the only one of wm. The
// log is told of gaps, lies and records that cannot be understood.
func NewApplier(catalog *proxy.Catalog, cache Cache, wm *Watermark, clock Clock, log *slog.Logger) *Applier {
	a := &Applier{
		catalog: catalog,
		cache:   cache,
		wm:      wm,
		clock:   clock,
		log:     log,
		metrics: newMetrics(),
		missing: func() {},
		streams: map[uint64]proxy.Identity{},
		lost:    "not attached yet",
	}
	a.parts.Store(&[]*partition{})
	wm.void = func() { a.reset(gapPrimary) }
	wm.fall() // until Attached
	return a
}

// Tap lets t see every change of a current stream from now on. It is called
// before the first Attached, if at all.
func (a *Applier) Tap(t Tap) { a.tap = t }

// show shows a change to the tap.
func (a *Applier) show(p *partition, r *event.Record) {
	if a.tap != nil {
		a.tap.Change(p.record, r)
	}
}

// Record applies one record of a partition. Records of one partition come in
// the order of their offsets; different partitions may come concurrently, but
// none together with Lost or Attached, and none before the first Attached.
func (a *Applier) Record(partition int, offset int64, _, value []byte) {
	p := (*a.parts.Load())[partition]
	p.record = proxy.Record{Partition: partition, Offset: offset}
	r, err := p.decoder.Decode(value)
	switch {
	case err != nil:
		a.undecodable(p, offset, value, err)
	case r.Stream != p.stream && !a.enter(p, r):
		a.applyOlder(p, r)
	default:
		a.apply(p, r, offset, value)
	}
	p.publish(offset)
}

// apply applies a record of the partition's stream in the order of contract
// 6.1.
func (a *Applier) apply(p *partition, r *event.Record, offset int64, value []byte) {
	place := p.placeOf(r)
	// The first record of a log follows none. One that does, or that comes where
	// others of its stream have been, is of a log that was made anew under a
	// relay which has not noticed: what the old one held last may be missing.
	if place == hole || offset == 0 && (r.Prev.Known() || p.mark.Known()) {
		p.anchored = false
		a.gap(gapHole, a.wm.fall)
		place = p.placeOf(r)
	}
	if r.Change != nil {
		a.change(p, r, place, offset, value)
	} else {
		a.checkpoint(p, r, place)
	}
	if place == next {
		p.mark = r.Position // last: what it covers has been applied
	}
	p.anchored = p.anchored || place != lie
}

// applyOlder applies a record of a stream that an older life of the source
// ships: what it says is no truth any more. Its keys are dropped, which harms
// nothing, and its checkpoints mean nothing.
func (a *Applier) applyOlder(p *partition, r *event.Record) {
	if r.Change == nil {
		a.metrics.checkpoint(checkpointOlder)
		return
	}
	a.metrics.change(r.Change.Op, changeOlder)
	a.drop(p, r)
}
