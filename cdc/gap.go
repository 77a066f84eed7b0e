package cdc

import (
	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// Lost says that the position in the stream is not known any longer: nothing
// is fresh until the next Attached.
func (a *Applier) Lost(reason string) {
	a.mu.Lock()
	known := a.lost == ""
	a.lost = reason
	a.mu.Unlock()
	if known {
		a.count(gapPosition, "reason", reason)
		a.wm.fall()
	}
}

// Attached says that the position in every one of the partitions is known, and
// that records follow from there.
func (a *Applier) Attached(partitions int) {
	a.Lost("attached anew") // unless that is known
	a.resize(partitions)
	a.missing()
	a.voidAll()
	a.mu.Lock()
	a.lost, a.counted = "", 0
	a.mu.Unlock()
	a.wm.stand()
}

// resize keeps the marks of partitions that are still there: a repeat stays a
// repeat behind a gap.
func (a *Applier) resize(partitions int) {
	old := *a.parts.Load()
	parts := make([]*partition, partitions)
	for i := copy(parts, old); i < partitions; i++ {
		parts[i] = &partition{id: i}
		parts[i].restart(0)
	}
	for _, p := range old[min(partitions, len(old)):] {
		a.forgive(p)
	}
	for _, p := range parts {
		p.anchored, p.heard = false, 0
		clear(p.foreign.rows) // those in between are not followed
		p.publish(-1)
	}
	a.parts.Store(&parts)
}

// ClockStepped says that the source's clock stepped: the times it told before
// do not compare with those it tells now.
func (a *Applier) ClockStepped() { a.gap(gapClock, a.wm.step) }

// gap makes everything void that may miss a change. The position is known:
// records keep coming from where they are.
//
//  1. the watermark falls to minus infinity
//  2. every use case is void
//  3. the watermark may rise again
//
// The other way round, an old entry would be lifted by what was learnt before
// the gap.
func (a *Applier) gap(why gapReason, fall func()) {
	fall()
	hook.At("cdc.gap.fallen")
	a.reset(why)
	a.wm.stand()
}

// reset is what a gap does while the watermark is down.
func (a *Applier) reset(why gapReason) {
	a.count(why)
	a.missing()
	a.voidAll()
}

// OnMissing has f called whenever everything is about to be made void because
// changes may be missing: what was missed may have been a change that nobody can
// see yet. It is to be called before anything else, and f by any goroutine.
func (a *Applier) OnMissing(f func()) { a.missing = f }

func (a *Applier) count(why gapReason, attrs ...any) {
	a.falls.Add(1)
	a.metrics.gap(why)
	if why == gapStart {
		return // nothing was followed yet that could have been lost
	}
	a.gaps.Add(1)
	a.log.Warn("gap in the change stream", append(attrs, "gap", why.String())...)
}

// voidAll makes every use case void. A schema change may be among what was
// missed, so schemas are forgotten too.
func (a *Applier) voidAll() {
	if hook.Mutant(hook.GapSilent) {
		return
	}
	for _, u := range a.catalog.All() {
		u.Mapping.Forget()
		a.cache.Void(u)
	}
}

// enter makes the stream of a record the partition's, which is a gap, also
// when another partition brought it first: each may have lost what lies
// between the two streams. It reports false, and does nothing, for a stream of
// an older life of the source than was seen since.
func (a *Applier) enter(p *partition, r *event.Record) bool {
	if r.Checkpoint != nil {
		a.learn(r)
	}
	if a.older(r.Stream) {
		return false
	}
	why := gapStream
	if p.stream == 0 {
		why = gapStart
	}
	a.forgive(p)
	p.restart(r.Stream)
	a.gap(why, func() { a.wm.follow(r.Stream) })
	return true
}

// maxStreams bounds how many streams' sources are remembered. One that is
// forgotten costs a gap when it comes again.
const maxStreams = 64

// learn remembers of which source a stream is.
func (a *Applier) learn(r *event.Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.streams[r.Stream]; ok {
		return
	}
	for hash := range a.streams {
		if len(a.streams) < maxStreams {
			break
		}
		delete(a.streams, hash)
	}
	a.streams[r.Stream] = r.Checkpoint.Stream.Source
}

func (a *Applier) older(stream uint64) bool {
	source, ok := a.sourceOf(stream)
	return ok && a.wm.refuses(source)
}

func (a *Applier) sourceOf(stream uint64) (proxy.Identity, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	source, ok := a.streams[stream]
	return source, ok
}
