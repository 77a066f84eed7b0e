package cdc

import (
	"sync"
	"sync/atomic"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// Watermark is the newest source time that every partition of the current
// stream has reached, never later than the moment at which a fill or probe
// that found this stream's own primary was last sent. All its methods may be
// called concurrently; [Watermark.Load], and [Watermark.Found] of the primary
// that is known, take no lock.
type Watermark struct {
	lift atomic.Pointer[lift]

	mu     sync.Mutex
	stream uint64         // hash of the current stream; 0: none yet
	id     event.StreamID // of the current stream, once a checkpoint told it
	parts  []proxy.Time   // last checkpoints of the current stream; Never: none
	last   proxy.Identity // the primary found last, even if it is none any more
	newest proxy.Identity // no older life of this source is a primary any more
	falls  int            // gaps going on: until they end no checkpoint counts
	holds  int            // partitions whose checkpoints are distrusted
	void   func()         // makes every use case void: the applier's
}

// lift is what readers see. A new one is published whenever the watermark has
// to fall, so that one who raises an old one raises nothing.
type lift struct {
	primary proxy.Identity // the primary that is known; zero: none
	stream  uint64         // the current stream
	own     bool           // it is this primary's
	low     atomic.Int64   // minimum over the partitions
	sent    atomic.Int64   // when primary was last asked
}

// NewWatermark returns a watermark that stands at proxy.Never: nothing has
// been heard of, and no primary was found.
func NewWatermark() *Watermark {
	w := &Watermark{void: func() {}}
	w.publishLocked(proxy.Identity{}, proxy.Never)
	return w
}

// Load returns the watermark.
func (w *Watermark) Load() proxy.Time {
	l := w.lift.Load()
	if hook.Mutant(hook.OldPrimaryLifts) {
		return proxy.Time(l.low.Load())
	}
	if !l.own {
		return proxy.Never
	}
	return proxy.Time(min(l.low.Load(), l.sent.Load()))
}

// Found says that a fill or probe which was sent at that source time (its
// lower end) was answered by the primary id. It returns proxy.ErrNotPrimary
// if that is none (the zero Identity), or an older life of the one that is
// known. One that is not known yet takes its place, and if there was one
// before, this is a gap.
func (w *Watermark) Found(id proxy.Identity, sent proxy.Time) error {
	l := w.lift.Load()
	if id.Known() && id == l.primary {
		raise(&l.sent, sent)
		return nil
	}
	return w.foundOther(id, sent)
}

func (w *Watermark) foundOther(id proxy.Identity, sent proxy.Time) error {
	changed, err := w.change(id, sent)
	if changed {
		w.void()
		w.stand()
	}
	return err
}

// change makes id the primary that is known. If there was another before, it
// begins a fall: what that one answered may be of a history that is gone.
func (w *Watermark) change(id proxy.Identity, sent proxy.Time) (changed bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !id.Known() || id.Precedes(w.newest) {
		return false, proxy.ErrNotPrimary
	}
	if l := w.lift.Load(); id == l.primary { // another call was faster
		raise(&l.sent, sent)
		return false, nil
	}
	changed = w.last.Known() && w.last != id
	w.last, w.newest = id, id
	if changed {
		w.fallLocked()
	}
	w.publishLocked(id, sent)
	w.raiseLocked()
	return changed, nil
}

// fall takes the watermark to minus infinity, where it stays until stand.
func (w *Watermark) fall() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fallLocked()
}

// fallLocked forgets every checkpoint: those before a gap prove nothing about
// what was lost in it.
func (w *Watermark) fallLocked() {
	w.falls++
	for i := range w.parts {
		w.parts[i] = proxy.Never
	}
	w.republishLocked()
}

// follow is a fall after which a stream is the current one. What it is
// its next checkpoint tells; until then it is nobody's and lifts nothing.
func (w *Watermark) follow(stream uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stream != stream {
		w.stream, w.id, w.parts = stream, event.StreamID{}, nil
	}
	w.fallLocked()
}

// step is a fall that also forgets when the primary was asked: the clock that
// told it is gone.
func (w *Watermark) step() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fallLocked()
	w.lift.Load().sent.Store(int64(proxy.Never))
}

// stand ends a fall: the position is known and every use case void.
func (w *Watermark) stand() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.falls--
}

// lifts reports whether a stream is the current one and of the primary that is
// known: only then do its positions compare with those of fills.
func (w *Watermark) lifts(stream uint64) bool {
	l := w.lift.Load()
	return l.own && l.stream == stream
}

// checkpoint raises what one partition of a stream has reached. It reports
// whether that counts: the stream is the current one, no gap is going on.
func (w *Watermark) checkpoint(partition int, stream uint64, c *event.Checkpoint, now proxy.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.falls > 0 || stream != w.stream {
		return false
	}
	if w.parts == nil {
		w.learnLocked(c.Stream)
	}
	if partition >= len(w.parts) {
		return false
	}
	// A question sent in the future was sent before the clock stepped back.
	if sent := &w.lift.Load().sent; sent.Load() > int64(now) {
		sent.Store(int64(proxy.Never))
	}
	w.parts[partition] = max(w.parts[partition], c.T) // one that goes back is ignored
	w.raiseLocked()
	return true
}

// learnLocked takes in what the current stream is.
func (w *Watermark) learnLocked(id event.StreamID) {
	w.id = id
	w.parts = make([]proxy.Time, id.Partitions)
	for i := range w.parts {
		w.parts[i] = proxy.Never
	}
	if w.newest.Precedes(id.Source) || !w.newest.Known() {
		w.newest = id.Source
	}
	if w.lift.Load().primary.Precedes(w.newest) {
		w.publishLocked(proxy.Identity{}, proxy.Never) // a successor of it ships changes
		return
	}
	w.republishLocked()
}

// republishLocked publishes a lift of the primary that is known.
func (w *Watermark) republishLocked() {
	l := w.lift.Load()
	w.publishLocked(l.primary, proxy.Time(l.sent.Load()))
}

// publishLocked publishes a lift that has fallen.
func (w *Watermark) publishLocked(primary proxy.Identity, sent proxy.Time) {
	l := &lift{primary: primary, stream: w.stream, own: primary.Known() && primary == w.id.Source}
	l.low.Store(int64(proxy.Never))
	l.sent.Store(int64(sent))
	w.lift.Store(l)
}

// raiseLocked raises the watermark to the minimum over the partitions. One not
// heard from counts as minus infinity. While anyone is distrusted it holds.
func (w *Watermark) raiseLocked() {
	if w.holds > 0 || w.falls > 0 || len(w.parts) == 0 {
		return
	}
	low := w.parts[0]
	for _, t := range w.parts[1:] {
		if hook.Mutant(hook.WatermarkMax) {
			low = max(low, t)
			continue
		}
		low = min(low, t)
	}
	raise(&w.lift.Load().low, low)
}

// hold distrusts one partition more, and with it the whole stream, since all
// checkpoints are made alike.
func (w *Watermark) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds++
}

// trust ends a hold.
func (w *Watermark) trust() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds--
	w.raiseLocked()
}

// refuses reports whether a stream of that source is of an older life of it
// than was seen since.
func (w *Watermark) refuses(source proxy.Identity) bool {
	if hook.Mutant(hook.OldPrimaryLifts) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return source.Precedes(w.newest)
}

// current returns the current stream, as far as it is known, and whether the
// watermark is held.
func (w *Watermark) current() (stream uint64, id event.StreamID, held bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stream, w.id, w.holds > 0
}

func raise(v *atomic.Int64, t proxy.Time) {
	for {
		old := v.Load()
		if int64(t) <= old || v.CompareAndSwap(old, int64(t)) {
			return
		}
	}
}
