package cache

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

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
	calm    bool  // no faults, so that entries grow old
	storm   []int // the only faults that there are, of the log; nil: all
	foreign bool  // half of the reads are of what another node keeps
	commits int   // of a hundred steps
	bits    uint  // of stamp slots
	stats   modelStats
	failure *violation
}

// modelStats say whether a run meant anything.
type modelStats struct{ reads, hits, lifted, fills, unkept, changes, gaps int }

func newModel(seed uint64, catalog *proxy.Catalog, node *modelNode, bits uint) *model {
	w := &model{rng: rand.New(rand.NewPCG(seed, 77)), now: 1000 * unit, catalog: catalog, bits: bits}
	w.traced = seed == *modelTrace
	weather := w.rng.IntN(9)
	w.calm = weather < 5
	if weather > 6 {
		w.storm = w.rng.Perm(logFaults)[:1+w.rng.IntN(3)]
	}
	w.commits = 1 + w.rng.IntN(8)
	batch := (seed - 1) / 64 % 8
	w.foreign = batch == 2 || batch == 5 // none of modelKept
	w.source = newModelSource(w, seed)
	w.redrawClock()
	w.node = node
	w.node.attachTo(w)
	return w
}

// note prints an event of the traced interleaving.
func (w *model) note(format string, args ...any) {
	if w.traced {
		fmt.Printf("%5d.%d  "+format+"\n", append([]any{w.now / unit, w.now % unit}, args...)...)
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
	case w.storm != nil:
		w.logFault()
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
	if w.inApply {
		return
	}
	p := w.rng.IntN(len(w.node.next))
	for range w.node.next {
		if w.node.next[p] != len(w.source.logs[p]) {
			break
		}
		p = (p + 1) % len(w.node.next)
	}
	switch at, end := w.node.next[p], len(w.source.logs[p]); {
	case at == end:
		return
	case at > end: // the log is another one, and shorter
		w.stats.gaps++
		w.node.reattach(w, "offset out of range")
		return
	}
	w.inApply = true
	record := w.source.logs[p][w.node.next[p]]
	w.node.next[p]++
	w.stats.changes++
	w.note("apply p%d #%d of %d", p, w.node.next[p], len(w.source.logs[p]))
	w.node.applier.Record(p, int64(w.node.next[p]-1), nil, record)
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

func (w *model) fault() {
	kind := w.rng.IntN(10)
	w.note("fault %d", kind)
	switch kind {
	case 0:
		w.stats.gaps++
		w.node.reattach(w, "offset out of range")
	case 1:
		w.node.Void(w.catalog.All()[w.rng.IntN(2)])
	case 2:
		w.node.Invalidate(w.key())
	case 3:
		w.node.evictSome(w.rng)
	case 4:
		w.redrawClock()
	case 5:
		w.now += proxy.Time(w.rng.IntN(80)) * unit
	case 6:
		w.redrawClock()
		w.node.applier.ClockStepped()
	case 7:
		w.restart()
	case 8:
		if w.rng.IntN(3) == 0 {
			w.source.failover()
		}
	default:
		w.logFault()
	}
}

const logFaults = 10

// logFault disturbs what lies between the source and the node. In a storm it is
// one of a few kinds again and again, as most of what goes wrong takes some of
// them and is undone by others (swarm testing, Groce et al. 2012).
func (w *model) logFault() {
	kind := w.rng.IntN(logFaults)
	if w.storm != nil {
		kind = w.storm[w.rng.IntN(len(w.storm))]
	}
	w.note("fault %d of the log", kind)
	switch kind {
	case 0:
		w.source.resend()
	case 1:
		w.source.lose()
	case 2:
		w.stats.gaps++
		w.source.newStream()
	case 3:
		w.source.remake()
	case 4:
		w.source.restartRelay()
	case 5:
		w.source.replay()
	case 6:
		w.source.doubled = !w.source.doubled
	case 7:
		w.source.widen()
	case 8:
		w.source.recount()
	case 9:
		w.node.recount(w)
	}
}

// restart is a new node in the place of the old one, which dies with all that
// it was about to do.
func (w *model) restart() {
	w.node = newModelNode(w.catalog, w.bits)
	w.sending, w.reads, w.tokens = nil, nil, nil
	w.node.attachTo(w)
}

// modelBatch runs interleavings in a row on one node, so that each also meets
// what the one before left behind.
func modelBatch(t testing.TB, seed uint64, runs int) (modelStats, *violation, uint64) {
	t.Helper()
	catalog, err := proxy.NewCatalog(mapping("a", "t"), mapping("b", "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer withoutSteps()
	var sum modelStats
	bits := uint(seed/64%2) * 6 // all keys in one stamp slot, or hardly
	node := newModelNode(catalog, bits)
	for i := range runs {
		withoutSteps() // those of the world before
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
	s.unkept += o.unkept
	s.gaps += o.gaps
	s.changes += o.changes
}

// modelKept are batches of which one interleaving once failed; each is run
// first. (So far every one showed a fault of the model: a relay that skipped
// what it should have shipped, an entry mistaken for another.)
var modelKept = []uint64{43201, 148545, 4295368128, 4295238401}

func TestModel(t *testing.T) {
	for _, seed := range modelKept {
		if _, failure, at := modelBatch(t, seed, 64); failure != nil {
			t.Fatalf("batch -model.seed=%d, at seed %d: %v", seed, at, failure)
		}
	}
	var sum modelStats
	for done := 0; done < *modelRuns; done += 64 {
		s, failure, seed := modelBatch(t, *modelSeed+uint64(done), min(64, *modelRuns-done))
		sum.add(&s)
		if failure != nil {
			t.Fatalf("batch -model.seed=%d, at seed %d: %v", *modelSeed+uint64(done), seed, failure)
		}
	}
	t.Logf("%d interleavings: %+v", *modelRuns, sum)
	if sum.hits*10 < sum.reads || sum.lifted*50 < sum.hits || sum.changes == 0 || sum.gaps == 0 || sum.unkept == 0 {
		t.Errorf("the run says little: %+v", sum)
	}
}
