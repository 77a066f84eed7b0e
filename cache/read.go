package cache

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// moment is what a batch of reads is judged by, read once before any stamp.
//
// The order matters. With a stamp compared first and the watermark read later:
//
//  1. a read finds the entry's stamp unchanged
//  2. a change is applied: stamp bumped, and the watermark passes it
//  3. the read takes that watermark as the entry's as-of: the old value looks fresh
//
// The clock is read when the batch's last byte has arrived, so hi is not
// before any of its invocations, which is all the bound asks of it.
type moment struct {
	watermark proxy.Time
	hi        proxy.Time
}

func (c *Cache) now() moment {
	w := c.stream.Load()
	hook.At("cache.read.watermark")
	_, hi := c.clock.Bounds()
	return moment{watermark: w, hi: hi}
}

// Load implements proxy.Source.
func (c *Cache) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	p := c.begin(reqs, results)
	if p == nil {
		return
	}
	c.metrics.misses.Add(uint64(len(p.waits)))
	if len(p.start) > 0 {
		c.fills.Go(func() { c.runAll(p.start) })
	}
	c.await(ctx, p, reqs, results)
}

// pending is what a batch of reads waits for.
type pending struct {
	at    moment
	start []*flight // fills this batch begins
	waits []wait
}

type wait struct {
	i      int // index of the request
	flight *flight
}

// begin answers what can be answered from memory. It returns nil if nothing
// else remains to be done.
func (c *Cache) begin(reqs []proxy.Request, results []proxy.Result) *pending {
	at := c.now()
	watching := c.trace.watches.Load() > 0
	if samples(at.hi) && len(reqs) > 0 {
		c.trace.sample(reqs, at.hi)
	}
	var p *pending
	for i := range reqs {
		r := &reqs[i]
		u := &c.cases[r.Key.UseCase.ID]
		hash := hashOf(r.Key.Text)
		e := c.find(u, hash, r.Key.Text)
		why := c.judge(u, e, hash, r.Freshness, &at)
		if watching {
			c.saw(hash, why, &at)
		}
		if why == reasonNone || why == reasonRefresh {
			c.hit(r, hash, &results[i], e, &at)
		}
		if why == reasonNone || why == reasonRefresh && r.Unkept {
			continue
		}
		if p == nil {
			p = &pending{at: at}
		}
		if e = c.enter(p, i, r, u, hash, why, at); e != nil {
			c.hit(r, hash, &results[i], e, &at)
		}
	}
	return p
}

// saw counts a read of a key that may be watched.
func (c *Cache) saw(hash uint64, why reason, at *moment) {
	if w := c.trace.watchOf(hash); w != nil {
		c.trace.saw(w, why, at.hi)
	}
}

func (c *Cache) hit(r *proxy.Request, hash uint64, res *proxy.Result, e *entry, at *moment) {
	c.metrics.hits[r.Key.UseCase.ID].add(hash)
	*res = answer(e, at.watermark, proxy.FromCache)
}

// judge applies the read rule: it returns why e cannot answer, or reasonNone,
// or reasonRefresh if e can answer but will soon leave the bound.
func (c *Cache) judge(u *useCase, e *entry, hash uint64, f proxy.Freshness, at *moment) reason {
	switch {
	case e == nil:
		if c.stamps.takeEviction(hash) {
			return reasonEvicted
		}
		return reasonCold
	case e.epoch != u.epoch.Load():
		return reasonEpoch
	case e.stamp != c.stamps.of(hash):
		if e.touched.Load() {
			return reasonChanged
		}
		return reasonNeighbour
	case f.Strong:
		return reasonStrong
	}
	asof := e.asOf(at.watermark)
	if hook.Mutant(hook.WatermarkAfterStamp) {
		hook.At("cache.read.stamp")
		asof = e.asOf(c.stream.Load())
	}
	age, bound := at.hi.Sub(asof), u.boundOf(f)
	switch {
	case at.hi > e.expires && !hook.Mutant(hook.TTLExtended):
		return reasonExpired
	case age > bound && e.pinned:
		return reasonPinned
	case age > bound:
		return reasonExpired
	case asof < f.Token:
		return reasonToken
	case !u.NoRefresh && age > refreshAge(u.Bound, hash):
		return reasonRefresh
	}
	return reasonNone
}

// boundOf is Δ of one read: its own, or the use case's.
func (u *useCase) boundOf(f proxy.Freshness) time.Duration { return cmp.Or(f.MaxStale, u.Bound) }

// refreshAge is the age from which a read of an entry refreshes it ahead: 0.8
// of the bound, a tenth more or less by its hash.
func refreshAge(bound time.Duration, hash uint64) time.Duration {
	return bound/10*7 + bound/5*time.Duration(hash>>22&1023)/1024
}

func answer(e *entry, w proxy.Time, from proxy.Origin) proxy.Result {
	return proxy.Result{
		Row:      e.row,
		AsOf:     e.asOf(w),
		Upper:    e.upper,
		Position: e.position,
		Pinned:   e.pinned,
		Origin:   from,
	}
}

// enter takes the fill lock of a key that needs a fill, and notes what the
// read waits for. Under the lock it looks once more: a fill may have ended
// since the first look, and what it installed is found by its flight until the
// store shows it. If that answers the read, enter returns it.
func (c *Cache) enter(p *pending, i int, r *proxy.Request, u *useCase, hash uint64, why reason, at moment) (found *entry) {
	create := func(key string) *flight {
		if e := c.find(u, hash, r.Key.Text); e != nil && c.judge(u, e, hash, r.Freshness, &at) == reasonNone {
			found = e
			return nil
		}
		f := newFlight(r, key, hash, why)
		f.bears.begin(u, r.Freshness)
		return f
	}
	if why == reasonRefresh {
		if f := c.locks.TryEnter(hash, r.Key.Text, create); f != nil {
			p.start = append(p.start, f)
		}
		return nil
	}
	join := func(f *flight) bool {
		if e := f.landed(); e != nil && c.judge(u, e, hash, r.Freshness, &at) == reasonNone {
			found = e
			return true
		}
		if !f.sent.Load() {
			f.bears.note(u, r.Freshness)
		}
		return c.mayJoin(u, f, r.Freshness, at) && (r.Unkept || f.keeping.ask())
	}
	f, start := c.locks.Enter(hash, r.Key.Text, join, create)
	switch {
	case found != nil:
		return found
	case start:
		p.start = append(p.start, f)
	default:
		c.metrics.joins[r.Key.UseCase.ID].Inc()
	}
	p.waits = append(p.waits, wait{i: i, flight: f})
	return nil
}

// mayJoin reports whether a read may share a fill that runs. One that is not
// sent yet satisfies everybody: its statement is sent after the read arrived.
func (c *Cache) mayJoin(u *useCase, f *flight, want proxy.Freshness, at moment) bool {
	if !f.sent.Load() || hook.Mutant(hook.JoinAny) {
		return true
	}
	return !want.Strong && !f.failed() && f.suits(u, want) &&
		at.hi.Sub(f.asof) <= u.boundOf(want) && f.asof >= want.Token &&
		f.stamp == c.stamps.of(f.hash) && f.epoch == u.epoch.Load()
}

// await waits for the fills of a batch, each read for as long as its use case
// allows, and answers them.
func (c *Cache) await(ctx context.Context, p *pending, reqs []proxy.Request, results []proxy.Result) {
	if len(p.waits) == 0 {
		return
	}
	began := time.Now()
	timer := time.NewTimer(fillTimeout)
	defer timer.Stop()
	for _, w := range p.waits {
		left := c.cases[reqs[w.i].Key.UseCase.ID].Timeout - time.Since(began)
		err := w.flight.wait(ctx, timer, left)
		if err == nil {
			err = c.admit(&reqs[w.i], &w.flight.result, &p.at)
		}
		if err == nil {
			results[w.i] = w.flight.result
		} else {
			results[w.i] = proxy.Result{Err: err}
			c.whenUnavailable(&reqs[w.i], &results[w.i])
		}
	}
}

// admit reports why a read may not have the answer of its fill. One of the
// primary satisfies every read that it was sent for; a replica's proves its own
// as-of and no more, and what a read asks for may be younger.
func (c *Cache) admit(r *proxy.Request, res *proxy.Result, at *moment) error {
	if !ofReplica(res) {
		return res.Err
	}
	bound := c.cases[r.Key.UseCase.ID].boundOf(r.Freshness)
	if r.Strong || res.AsOf < r.Token || at.hi.Sub(res.AsOf) > bound {
		return errBehind
	}
	return nil
}

// whenUnavailable answers a read whose fill brought nothing: with an entry
// outside the bound where the use case prefers that, else with the error. A
// read that states its own bound gets nothing older than it asked for, and one
// with a token (each of a session has one) nothing older than that.
func (c *Cache) whenUnavailable(r *proxy.Request, res *proxy.Result) {
	u := &c.cases[r.Key.UseCase.ID]
	c.metrics.failed[r.Key.UseCase.ID].Inc()
	if u.MaxStale == 0 || r.MaxStale != 0 || r.Strong || errors.Is(res.Err, context.Canceled) {
		return
	}
	at := c.now()
	hash := hashOf(r.Key.Text)
	e := c.find(u, hash, r.Key.Text)
	if e == nil || !c.valid(u, e, hash) || at.hi > e.expires {
		return
	}
	if asof := e.asOf(at.watermark); asof < r.Token || at.hi.Sub(asof) > u.MaxStale {
		return
	}
	c.metrics.stale[r.Key.UseCase.ID].Inc()
	*res = answer(e, at.watermark, proxy.FromStale)
}
