package cache

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// reason says why a fill was made.
type reason uint8

const (
	reasonNone      reason = iota
	reasonCold             // the key was not in memory
	reasonEvicted          // its slot lost an entry for want of room
	reasonExpired          // older than the bound, or than ttl_max
	reasonChanged          // a change or a write of this key voided it
	reasonNeighbour        // a change of another key of its slot did
	reasonEpoch            // the epoch of the use case moved
	reasonRefresh          // still good, but soon outside the bound
	reasonPinned           // a pinned entry older than the bound
	reasonStrong           // the read asked for the source itself
	reasonToken            // the read's token is newer than the entry
	reasonUnkept           // whatever was held, for a read of what another node keeps
	reasons
)

var reasonNames = [reasons]string{
	"none", "cold", "evicted", "expired", "changed", "neighbour", "epoch", "refresh", "pinned", "strong", "token", "unkept",
}

func (r reason) String() string { return reasonNames[r] }

// fillTimeout is the deadline of one fill, which no caller's own deadline
// shortens: those who wait longer than their use case allows have left by then.
const fillTimeout = 5 * time.Second

// errBehind is what a read gets for which a replica's answer is too old.
var errBehind = &proxy.UnavailableError{
	Reason: "the replica has not come as far as this read asks for",
	Err:    errors.New("the answer of a replica is too old"),
}

var errFillTimeout = fmt.Errorf("%w: no answer in time", proxy.ErrUnavailable)

// flight is one fill of one key, from the moment somebody needs it. stamp,
// epoch and asof are set before sent; result is set before done is closed.
type flight struct {
	useCase *proxy.UseCase
	key     string
	hash    uint64
	why     reason

	stamp, epoch uint64
	asof         proxy.Time
	sent         atomic.Bool
	keeping      keeping
	bears        bears
	result       proxy.Result
	kept         *entry  // what was installed, if anything was
	home         entries // the store that has it
	done         chan struct{}
}

// wait returns nil once the flight has its result, which it prefers to
// everything else that has come by then. It uses timer to wait no longer than
// for what is left of the reader's time.
func (f *flight) wait(ctx context.Context, timer *time.Timer, left time.Duration) error {
	if f.ended() {
		return nil
	}
	if left <= 0 {
		return errFillTimeout
	}
	timer.Reset(left)
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errFillTimeout
	}
}

// ended reports whether the flight has its result.
func (f *flight) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// landed returns what the flight has installed, so that it is found before the
// store shows it.
func (f *flight) landed() *entry {
	if f.ended() {
		return f.kept
	}
	return nil
}

// failed reports whether the flight has ended with an error: that one reaches
// those who waited, and nobody who comes later.
func (f *flight) failed() bool { return f.ended() && f.result.Err != nil }

// runAll runs fills together, then those that waited behind them, until nobody
// waits any more.
func (c *Cache) runAll(fs []*flight) {
	for len(fs) > 0 {
		fs = c.run(fs)
	}
}

// run sends one batch of fills, hands out the answers, and returns the fills
// that waited behind them.
func (c *Cache) run(fs []*flight) (next []*flight) {
	reqs := c.send(fs)
	ctx, cancel := context.WithTimeout(context.Background(), fillTimeout)
	defer cancel()
	results := make([]proxy.Result, len(fs))
	began := time.Now()
	c.next.Load(ctx, reqs, results)
	c.overtake(ctx, fs, reqs, results)
	c.metrics.took.Observe(time.Since(began).Seconds())
	c.land(fs, results)
	return c.leave(fs)
}

// send does what must be done before the statement is sent: stamps and epochs
// are read, then the as-of that all keys share.
func (c *Cache) send(fs []*flight) []proxy.Request {
	reqs := make([]proxy.Request, len(fs))
	for i, f := range fs {
		f.stamp = c.stamps.of(f.hash)
		f.epoch = c.cases[f.useCase.ID].epoch.Load()
		reqs[i].Key = proxy.Key{UseCase: f.useCase, Text: []byte(f.key)}
		c.metrics.fills[f.useCase.ID][f.why].Inc()
	}
	lo, hi := c.clock.Bounds()
	for _, f := range fs {
		f.asof = lo
		f.sent.Store(true)
		c.trace.take(step{hash: f.hash, useCase: f.useCase.ID, at: hi, what: stepSent, why: f.why, asof: lo})
	}
	return reqs
}

// land installs what may be installed and gives every flight its result.
func (c *Cache) land(fs []*flight, results []proxy.Result) {
	_, hi := c.clock.Bounds()
	for i, f := range fs {
		res := &results[i]
		switch {
		case res.Err != nil:
		case ofReplica(res):
			// A replica's as-of is its own. One from the future would make it
			// young for longer than it is.
			res.AsOf, res.Upper = min(res.AsOf, f.asof), 0
		default:
			res.Err = c.stream.Found(res.Primary, f.asof)
			res.AsOf, res.Upper = f.asof, hi
		}
		outcome := stepFailed
		if res.Err != nil {
			f.result = proxy.Result{Err: res.Err}
		} else {
			res.Origin = proxy.FromFill
			f.result = *res
			outcome = c.install(f)
		}
		c.trace.take(step{hash: f.hash, useCase: f.useCase.ID, at: hi, what: outcome,
			asof: f.result.AsOf, position: f.result.Position, bytes: bytesOf(f.result.Row)})
		close(f.done)
	}
}

// install keeps the value of a fill, unless a change or the epoch passed it:
//
//  1. a fill reads the old row
//  2. the row changes, the change is applied: stamp bumped, nothing to drop
//  3. the fill installs the old row, and no further change comes to void it
//
// The check only spares memory: the entry carries the stamp read before the
// fill was sent, so every later read finds it void. It returns what became of
// the value.
func (c *Cache) install(f *flight) what {
	if !f.keeping.decide() {
		return stepUnkept
	}
	u := &c.cases[f.useCase.ID]
	stamp, epoch := f.stamp, f.epoch
	if hook.Mutant(hook.InstallUnchecked) {
		stamp, epoch = c.stamps.of(f.hash), u.epoch.Load()
	}
	if stamp != c.stamps.of(f.hash) || epoch != u.epoch.Load() {
		c.metrics.refused[f.useCase.ID].Inc()
		return stepRefused
	}
	if ofReplica(&f.result) && c.holdsLifted(u, f) {
		return stepUnkept
	}
	hook.At("cache.install.checked")
	f.kept = &entry{
		key:      f.key,
		row:      f.result.Row,
		stamp:    stamp,
		epoch:    epoch,
		asof:     f.result.AsOf,
		upper:    f.result.Upper,
		expires:  expiry(f.result.AsOf, u.TTLMax, f.hash),
		position: f.result.Position,
		pinned:   f.result.Pinned,
	}
	f.home = c.put(u, f.hash, f.kept)
	return stepInstalled
}

// leave frees the fill locks once the store shows what was installed. Until
// then the flights stay, and reads of their keys find it there: otherwise a
// read that comes right after would not see the entry yet and fill again.
func (c *Cache) leave(fs []*flight) (next []*flight) {
	var settled entries
	for _, f := range fs {
		if f.home != nil && f.home != settled {
			f.home.Settle()
			settled = f.home
		}
	}
	for _, f := range fs {
		if n := c.locks.Leave(f.hash, f.key); n != nil {
			next = append(next, n)
		}
	}
	return next
}
