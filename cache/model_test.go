package cache

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cdc"
	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
)

// The core as a state machine. A seeded scheduler moves one actor at a time:
// transactions commit and become visible, a relay ships them, a node applies
// the log in two partitions, fills are sent, read the source, land and leave,
// reads begin, join and are answered, writes go through; and the faults of the
// contract happen. Beside it runs a naive reference: the list of versions of
// each key with the time each became visible. Every answer is held against it.
//
// An interleaving is one run of modelSteps steps over a database of its own.

var (
	modelRuns  = flag.Int("model.runs", 20_000, "interleavings that the state machine explores")
	modelSeed  = flag.Uint64("model.seed", 1, "seed of the first interleaving")
	modelTrace = flag.Uint64("model.trace", 0, "seed of an interleaving of which every event is printed")
)

const (
	modelSteps = 100
	modelBound = 40 * unit
	modelTTL   = 60 * unit
)

// model is one interleaving.
type model struct {
	rng     *rand.Rand
	now     proxy.Time
	catalog *proxy.Catalog
	source  *modelSource
	node    *modelNode
	slack   [2]proxy.Time // the clock's interval around now

	sending []*modelFill
	reads   []*modelRead
	tokens  []modelToken
	written int // the version of the last write under way
	depth   int // of actors that moved in the middle of another's step
	inApply bool
	traced  bool
	calm    bool // no faults, so that entries grow old
	commits int  // of a hundred steps
	bits    uint // of stamp slots
	stats   modelStats
	failure *violation
}

// modelStats say whether a run meant anything.
type modelStats struct{ reads, hits, lifted, fills, changes, gaps int }

// violation is a broken check.
type violation struct{ check, what string }

func (v *violation) Error() string { return v.check + ": " + v.what }

// modelNode is a node: the real cache and the real applier.
type modelNode struct {
	*Cache
	applier   *cdc.Applier
	watermark *cdc.Watermark
	next      [modelPartitions]int
	fed       [modelPartitions]bool // a record was applied since the node attached
}

type modelFill struct {
	flights []*flight
	reqs    []proxy.Request // nil: not sent
	results []proxy.Result  // nil: the source has not answered
	landed  bool
}

type modelRead struct {
	invoked proxy.Time
	req     proxy.Request
	result  []proxy.Result
	pending *pending
	least   int // the version the last finished write of this key left
}

type modelToken struct {
	text  string
	key   int
	token proxy.Time
	n     int
}

func newModel(seed uint64, catalog *proxy.Catalog, node *modelNode, bits uint) *model {
	w := &model{rng: rand.New(rand.NewPCG(seed, 77)), now: 1000 * unit, catalog: catalog, bits: bits}
	w.traced = seed == *modelTrace
	w.calm = w.rng.IntN(3) > 0
	w.commits = 1 + w.rng.IntN(8)
	w.source = newModelSource(w, seed)
	w.redrawClock()
	w.node = node
	w.node.attachTo(w)
	return w
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
	n.applier = cdc.NewApplier(catalog, n.Cache, n.watermark, clock, cdc.Options{})
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
		n.next[p], n.fed[p] = len(w.source.logs[p]), false
	}
	n.applier.Attached(modelPartitions)
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

// note prints an event of the traced interleaving.
func (w *model) note(format string, args ...any) {
	if w.traced {
		fmt.Printf("%5d.%d  "+format+"\n", append([]any{w.now / unit, w.now % unit}, args...)...)
	}
}

func (w *model) fail(check, format string, args ...any) {
	if w.failure == nil {
		w.failure = &violation{check: check, what: fmt.Sprintf(format, args...)}
	}
}

// run makes the steps of one interleaving, then lets everything finish.
func (w *model) run() {
	for range modelSteps {
		w.step()
		if w.failure != nil {
			return
		}
	}
	for len(w.sending) > 0 {
		w.moveFill()
	}
	w.finishReads()
}

// step moves one actor. The weights make hits, joins and races likely.
func (w *model) step() {
	w.now += proxy.Time(w.rng.IntN(3)) * unit
	switch n := w.rng.IntN(100); {
	case n < w.commits:
		w.commit()
	case n < 12:
		w.show()
	case n < 19:
		w.source.ship()
	case n < 34:
		w.source.checkpoint()
	case n < 56:
		w.apply()
	case n < 78:
		w.read()
	case n < 91:
		w.moveFill()
	case n < 92:
		w.write()
	case n < 96:
		_ = w.node.watermark.Found(w.source.identity, w.now-w.slack[0])
	case w.calm:
		w.read()
	default:
		w.fault()
	}
	w.finishReads()
}

// meanwhile lets others move in the middle of somebody's step.
func (w *model) meanwhile(most int) {
	if w.depth > 0 {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	for range w.rng.IntN(most + 1) {
		w.now += proxy.Time(w.rng.IntN(2)) * unit
		switch w.rng.IntN(5) {
		case 0:
			w.commit()
		case 1:
			w.show()
		case 2:
			w.source.ship()
		case 3:
			w.source.checkpoint()
		case 4:
			w.apply()
		}
	}
}

func (w *model) commit() {
	if w.rng.IntN(12) == 0 {
		if len(w.source.hidden()) == 0 {
			op := event.Truncate
			if w.rng.IntN(2) == 0 {
				op = event.SchemaChanged
			}
			w.source.commitTable(op)
		}
		return
	}
	var keys []int
	for range 1 + w.rng.IntN(3)*w.rng.IntN(2) {
		if k := w.rng.IntN(modelKeys); !w.source.locked(k) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return
	}
	tx := w.source.commit(keys...)
	if w.rng.IntN(2) == 0 {
		w.source.show(tx)
	}
}

func (w *model) show() {
	if hidden := w.source.hidden(); len(hidden) > 0 {
		w.source.show(hidden[w.rng.IntN(len(hidden))])
	}
}

// apply lets the node take the next record of one partition.
func (w *model) apply() {
	p := w.rng.IntN(modelPartitions)
	for range modelPartitions {
		if w.node.next[p] < len(w.source.logs[p]) {
			break
		}
		p = (p + 1) % modelPartitions
	}
	if w.inApply || w.node.next[p] >= len(w.source.logs[p]) {
		return
	}
	w.inApply = true
	record := w.source.logs[p][w.node.next[p]]
	w.node.next[p]++
	w.stats.changes++
	w.node.fed[p] = true
	w.note("apply p%d #%d of %d", p, w.node.next[p], len(w.source.logs[p]))
	w.node.applier.Record(p, int64(w.node.next[p]), nil, record)
	w.inApply = false
	w.note("applied, watermark %d", w.node.watermark.Load()/unit)
	w.relearn()
}

// relearn is the source reading its catalog again after a schema change.
func (w *model) relearn() {
	for _, u := range w.catalog.All() {
		if u.Mapping.Schema() == nil && w.rng.IntN(2) == 0 {
			u.Mapping.Learn(u.Mapping.Generation(), schema)
		}
	}
}

func (w *model) key() proxy.Key {
	u := w.catalog.All()[w.rng.IntN(2)]
	hot := max(0, w.rng.IntN(modelKeys+3)-3) // most want key 0
	return proxy.Key{UseCase: u, Text: fmt.Appendf(nil, "%s:%d", u.Name, hot)}
}

func (w *model) read() {
	r := &modelRead{req: proxy.Request{Key: w.key()}, result: make([]proxy.Result, 1), invoked: w.now}
	k := keyNumber(r.req.Key.Text)
	switch w.rng.IntN(10) {
	case 0:
		r.req.Strong = true
	case 1:
		r.req.MaxStale = time.Duration(proxy.Time(1+w.rng.IntN(10)) * unit)
	case 2:
		r.req.MaxStale = time.Duration(4 * modelBound)
	case 3:
		for _, t := range w.tokens {
			if t.key == k {
				r.req.Token, r.least = t.token, t.n
			}
		}
	}
	for _, t := range w.tokens { // a write of this very key that has been answered
		if t.text == string(r.req.Key.Text) {
			r.least = max(r.least, t.n)
		}
	}
	w.stats.reads++
	w.note("read %s %+v", r.req.Key.Text, r.req.Freshness)
	if p := w.node.begin([]proxy.Request{r.req}, r.result); p != nil {
		r.pending = p
		if len(p.start) > 0 {
			w.sending = append(w.sending, &modelFill{flights: p.start})
		}
		if len(p.waits) > 0 {
			w.reads = append(w.reads, r)
			return
		}
	}
	w.answered(r)
}

// finishReads answers the reads whose fills have landed.
func (w *model) finishReads() {
	w.reads = slices.DeleteFunc(w.reads, func(r *modelRead) bool {
		f := r.pending.waits[0].flight
		select {
		case <-f.done:
			r.result[0] = f.result
			w.answered(r)
			return true
		default:
			return false
		}
	})
}

// moveFill takes one fill on: sent, answered, landed, left; often through
// several of these at once, so that entries live to be read.
func (w *model) moveFill() {
	for len(w.sending) > 0 {
		w.fillStep(w.rng.IntN(min(2, len(w.sending))))
		if w.rng.IntN(4) == 0 {
			return
		}
	}
}

func (w *model) fillStep(i int) {
	f := w.sending[i]
	switch {
	case f.reqs == nil:
		w.oneFillPerKey(f)
		f.reqs = w.node.send(f.flights)
		w.note("fill sent %s (%d)", f.flights[0].key, len(f.flights))
		w.stats.fills += len(f.reqs)
	case f.results == nil:
		f.results = w.source.snapshot(f.reqs)
		if w.rng.IntN(20) == 0 {
			f.results[0] = proxy.Result{Err: proxy.ErrUnavailable}
		}
	case !f.landed:
		w.node.land(f.flights, f.results)
		w.note("fill landed %s pos %v installed %v", f.flights[0].key, f.results[0].Position, f.flights[0].home != nil)
		f.landed = true
	default:
		w.sending = slices.Delete(w.sending, i, i+1)
		if next := w.node.leave(f.flights); len(next) > 0 {
			w.sending = append(w.sending, &modelFill{flights: next})
		}
	}
}

// oneFillPerKey is C9: a fill is sent while no other of its key is under way.
func (w *model) oneFillPerKey(f *modelFill) {
	for _, other := range w.sending {
		if other == f || other.reqs == nil || other.landed {
			continue
		}
		for _, a := range f.flights {
			for _, b := range other.flights {
				if a.key == b.key {
					w.fail("C9", "two fills of %s run at once", a.key)
				}
			}
		}
	}
}

func (w *model) write() {
	key := w.key()
	k := keyNumber(key.Text)
	var out [1]proxy.Written
	put := proxy.Write{Key: key, Op: proxy.Put, Fields: append(modelFields(k, w.source.versions+1), field("junk"))[:1]}
	w.node.Apply(context.Background(), []proxy.Write{put}, out[:])
	if out[0].Err == nil {
		w.tokens = append(w.tokens, modelToken{text: string(key.Text), key: k, token: out[0].Token, n: w.written})
	}
}

func (w *model) fault() {
	kind := w.rng.IntN(12)
	w.note("fault %d", kind)
	switch kind {
	case 0:
		w.source.resend()
	case 1:
		w.source.lose()
	case 2:
		w.stats.gaps++
		w.node.reattach(w, "offset out of range")
	case 3:
		w.stats.gaps++
		w.source.newStream()
	case 4:
		w.node.Void(w.catalog.All()[w.rng.IntN(2)])
	case 5:
		w.node.Invalidate(w.key())
	case 6:
		w.node.evictSome(w.rng)
	case 7:
		w.redrawClock()
	case 9:
		w.now += proxy.Time(w.rng.IntN(80)) * unit
	case 10:
		w.redrawClock()
		w.node.applier.ClockStepped()
	case 11:
		w.restart()
	case 8:
		if w.rng.IntN(3) == 0 {
			w.source.failover()
		}
	}
}

// restart is a new node in the place of the old one, which dies with all that
// it was about to do.
func (w *model) restart() {
	w.node = newModelNode(w.catalog, w.bits)
	w.sending, w.reads, w.tokens = nil, nil, nil
	w.node.attachTo(w)
}

// answered holds an answer against the reference.
func (w *model) answered(r *modelRead) {
	res := &r.result[0]
	if res.Err != nil {
		return
	}
	k := keyNumber(r.req.Key.Text)
	n, ok := parse(res.Row, k)
	w.note("answer %s version %d from %v as-of %d, pos %v", r.req.Key.Text, n, res.Origin, res.AsOf/unit, res.Position)
	if !ok {
		w.fail("C0", "%s answered %q", r.req.Key.Text, text(res.Row))
		return
	}
	if res.Origin == proxy.FromCache {
		w.stats.hits++
		w.checkAge(r)
	}
	w.checkVersion(r, k, n)
}

// checkAge is the promise of ttl_max, and counts the hits that only the
// stream could justify.
func (w *model) checkAge(r *modelRead) {
	u := &w.node.cases[r.req.Key.UseCase.ID]
	e := w.node.find(u, hashOf(r.req.Key.Text), r.req.Key.Text)
	if res := &r.result[0]; e == nil || e.upper != res.Upper || e.position != res.Position {
		return // by now another entry
	}
	if r.invoked-e.asof > modelTTL {
		w.fail("ttl", "%s was a hit %d ticks after its as-of", r.req.Key.Text, (r.invoked-e.asof)/unit)
	}
	if w.now-e.asof > modelBound {
		w.stats.lifted++
	}
}

// checkVersion finds a moment at which version n was the visible one, as every
// check demands it.
func (w *model) checkVersion(r *modelRead, key, n int) {
	bound := modelBound
	switch {
	case r.req.Strong:
		bound = 0
	case r.req.MaxStale > 0:
		bound = proxy.Time(r.req.MaxStale)
	}
	h := w.source.history[key]
	seen, fresh, honest, written := false, false, false, r.least == 0
	for i, v := range h {
		until := proxy.Forever
		if i+1 < len(h) {
			until = h[i+1].visible
		}
		if v.n == r.least {
			written = true
		}
		if v.n != n {
			continue
		}
		seen = true
		fresh = fresh || until > r.invoked-bound
		honest = honest || until > r.result[0].AsOf
		if fresh && honest && written {
			return
		}
	}
	what := fmt.Sprintf("%s answered version %d (%v, as-of %d) to a read of tick %d, strong %v, bound %d; versions %v",
		r.req.Key.Text, n, r.result[0].Origin, r.result[0].AsOf/unit, r.invoked/unit, r.req.Strong, bound/unit, ticks(h))
	switch {
	case !seen:
		w.fail("C1", "%s: it was never visible", what)
	case !fresh && r.req.Strong:
		w.fail("C7", "%s", what)
	case !fresh:
		w.fail("C3", "%s", what)
	case !honest:
		w.fail("C2", "%s", what)
	default:
		w.fail("C5", "%s: version %d was written before", what, r.least)
	}
}

func ticks(h []version) []version {
	out := slices.Clone(h)
	for i := range out {
		out[i].visible /= unit
	}
	return out
}

// modelBatch runs interleavings in a row on one node, so that each also meets
// what the one before left behind.
func modelBatch(t testing.TB, seed uint64, runs int) (modelStats, *violation, uint64) {
	t.Helper()
	catalog, err := proxy.NewCatalog(mapping("a", "t"), mapping("b", "t"))
	if err != nil {
		t.Fatal(err)
	}
	var sum modelStats
	bits := uint(seed/64%2) * 6 // all keys in one stamp slot, or hardly
	node := newModelNode(catalog, bits)
	for i := range runs {
		w := newModel(seed+uint64(i), catalog, node, bits)
		withSteps(w)
		w.run()
		sum.add(&w.stats)
		if w.failure != nil {
			return sum, w.failure, seed + uint64(i)
		}
		node = w.node
	}
	return sum, nil, 0
}

func (s *modelStats) add(o *modelStats) {
	s.reads += o.reads
	s.hits += o.hits
	s.lifted += o.lifted
	s.fills += o.fills
	s.gaps += o.gaps
	s.changes += o.changes
}

func TestModel(t *testing.T) {
	var sum modelStats
	for done := 0; done < *modelRuns; done += 64 {
		s, failure, seed := modelBatch(t, *modelSeed+uint64(done), min(64, *modelRuns-done))
		sum.add(&s)
		if failure != nil {
			t.Fatalf("batch -model.seed=%d, at seed %d: %v", *modelSeed+uint64(done), seed, failure)
		}
	}
	t.Logf("%d interleavings: %+v", *modelRuns, sum)
	if sum.hits*10 < sum.reads || sum.lifted*50 < sum.hits || sum.changes == 0 || sum.gaps == 0 {
		t.Errorf("the run says little: %+v", sum)
	}
}
