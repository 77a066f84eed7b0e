package check

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy"
)

// tier is a naive cache tier that keeps the contract, and the world around it,
// all in one thread and with times of its own: what it writes down is a valid
// history.
type tier struct {
	rng    *rand.Rand
	now    history.Time
	end    history.Time
	offset proxy.Time // of the source's clock against the run's
	cases  []history.UseCase
	stall  span // nothing reaches the nodes
	points []point
	nodes  map[string]*simNode
	keys   map[string]*simKey
	seq    uint64
	value  uint64

	// What was written down, in order.
	few    []any
	writes []history.Write
	reads  []history.Read
	fills  []history.Fill
	counts map[life]*history.Counters

	sessions map[uint64]proxy.Time
	tokens   []proxy.Time
	probes   []probe
}

// point is a checkpoint: all that was visible at t has reached the nodes at
// arrives.
type point struct{ t, arrives history.Time }

type simKey struct {
	useCase int
	seen    []simVersion // in the order of the log
}

type simVersion struct {
	seq, value uint64
	visible    history.Time
}

type simNode struct {
	entries map[string]*simEntry
	busy    map[string]history.Time // a fill of the key runs until
}

type simEntry struct {
	version     simVersion
	asof, upper proxy.Time
	stamped     history.Time // changes that arrived later void it
}

type probe struct {
	key, node string
	at        history.Time
	seq       uint64
}

const (
	second = history.Time(time.Second)
	millis = history.Time(time.Millisecond)
)

func newTier(seed uint64) *tier {
	t := &tier{
		rng:      rand.New(rand.NewPCG(seed, 7)),
		now:      1000 * second,
		offset:   proxy.Time(1.7e18),
		cases:    []history.UseCase{{Name: "a", Bound: 2 * time.Second}, {Name: "b", Bound: 400 * time.Millisecond}},
		nodes:    map[string]*simNode{},
		keys:     map[string]*simKey{},
		counts:   map[life]*history.Counters{},
		sessions: map[uint64]proxy.Time{},
	}
	t.end = t.now + 24*second
	t.stall = span{t.now + 6*second, t.now + 9*second}
	t.few = append(t.few,
		&history.Run{Format: history.Format, Command: "a test", Seed: seed, At: t.now, Nodes: []string{"n1", "n2"}, UseCases: t.cases},
		&history.Fault{ID: 1, Name: "stall", At: t.stall.from},
		&history.Fault{ID: 1, Name: "stall", At: t.stall.to, End: true})
	for _, name := range []string{"n1", "n2"} {
		t.nodes[name] = &simNode{entries: map[string]*simEntry{}, busy: map[string]history.Time{}}
	}
	for i := range 12 {
		u := i % 2
		t.keys[fmt.Sprintf("%s:%d", t.cases[u].Name, i/2)] = &simKey{useCase: u}
	}
	t.checkpoints()
	return t
}

// checkpoints plans when what the source shows reaches the nodes.
func (t *tier) checkpoints() {
	last := t.now
	for at := t.now; at < t.end; at += 50 * millis {
		arrives := at + t.between(1, 60)*millis
		if t.stall.from <= arrives && arrives < t.stall.to {
			arrives = t.stall.to + millis
		}
		last = max(last, arrives)
		t.points = append(t.points, point{at, last})
	}
}

func (t *tier) between(a, b int) history.Time { return history.Time(a + t.rng.IntN(b-a+1)) }

func (t *tier) source(at history.Time) proxy.Time { return proxy.Time(at) + t.offset }

// watermark is the newest checkpoint that has reached the nodes.
func (t *tier) watermark(at history.Time) proxy.Time {
	w := proxy.Never
	for _, p := range t.points {
		if p.arrives > at {
			break
		}
		w = t.source(p.t)
	}
	return w
}

// arrival is when a change that became visible at a moment reaches the nodes.
func (t *tier) arrival(visible history.Time) history.Time {
	for _, p := range t.points {
		if p.t >= visible {
			return p.arrives
		}
	}
	return forever
}

// run lets the tier live for its time.
func (t *tier) run() *tier {
	names := t.names()
	for t.now < t.end {
		t.now += t.between(1, 30) * millis
		switch n := t.rng.IntN(20); {
		case n < 2:
			t.write(names[t.rng.IntN(len(names))])
		default:
			t.anyRead(names)
		}
		t.probes = slices.DeleteFunc(t.probes, func(p probe) bool {
			if p.at > t.now {
				return false
			}
			t.read(p.key, p.node, history.Read{Mode: history.Plain, Probe: p.seq})
			return true
		})
	}
	for at := 999 * second; at < t.end+2*second; at += second {
		t.few = append(t.few, &history.Clock{At: at, Lo: t.source(at) - 30_000, Hi: t.source(at) + 20_000})
	}
	for _, c := range t.counts {
		c.At, c.Final = t.end, true
		t.few = append(t.few, c)
	}
	t.few = append(t.few, &history.End{At: t.end})
	return t
}

func (t *tier) names() []string {
	var names []string
	for name := range t.keys {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// write changes a key: most often it commits.
func (t *tier) write(key string) {
	k := t.keys[key]
	w := history.Write{Key: key, Op: "update", Begun: t.now}
	visible := t.now + t.between(0, 5)*millis
	w.Acked = visible + t.between(0, 5)*millis
	t.seq++
	t.value++
	w.Seq, w.Value = t.seq, t.value
	switch t.rng.IntN(12) {
	case 0:
		w.Seq, w.Outcome = 0, history.RolledBack
		t.writes = append(t.writes, w)
		return
	case 1:
		passed := w
		passed.Outcome = history.Passed
		t.writes = append(t.writes, passed)
		t.seq++
		t.value++
		w.Seq, w.Value = t.seq, t.value
	case 2, 3:
		w.Value, w.Op = 0, "delete"
	case 4:
		w.Outcome, w.Acked = history.Unknown, 0
	case 5:
		t.truncate(k.useCase, visible, w.Acked)
		return
	case 6, 7:
		w.Session, w.Token = uint64(1+t.rng.IntN(3)), t.source(w.Acked)
		t.sessions[w.Session] = max(t.sessions[w.Session], w.Token)
		t.tokens = append(t.tokens, w.Token)
	}
	if w.Outcome != history.Unknown || t.rng.IntN(2) == 0 {
		k.seen = append(k.seen, simVersion{w.Seq, w.Value, visible})
	}
	t.writes = append(t.writes, w)
	if w.Outcome == history.Committed && visible < t.stall.from-2*second {
		for node := range t.nodes {
			bound := history.Time(t.cases[k.useCase].Bound)
			t.probes = append(t.probes, probe{key, node, w.Acked + bound + t.between(1, 30)*millis, w.Seq})
		}
	}
	t.now = max(t.now, w.Acked)
}

func (t *tier) truncate(useCase int, visible, acked history.Time) {
	for _, k := range t.keys {
		if k.useCase == useCase {
			k.seen = append(k.seen, simVersion{t.seq, 0, visible})
		}
	}
	t.few = append(t.few, &history.Truncate{UseCase: t.cases[useCase].Name, Seq: t.seq, Begun: t.now, Acked: acked})
	t.now = acked
}

func (t *tier) anyRead(names []string) {
	r := history.Read{Mode: history.Plain}
	key := names[min(t.rng.IntN(len(names)), t.rng.IntN(len(names)))]
	switch t.rng.IntN(12) {
	case 0:
		r.Mode = history.Strong
	case 1:
		r.Mode, r.Bound = history.MaxStale, time.Duration(t.between(1, 3000))*time.Millisecond
	case 2:
		if len(t.tokens) > 0 {
			r.Mode, r.Token = history.Token, t.tokens[t.rng.IntN(len(t.tokens))]
		}
	case 3, 4:
		r.Mode, r.Session = history.Session, uint64(1+t.rng.IntN(3))
	case 5:
		key = key[:2] + "none"
	case 6:
		r.Mode, r.Origin = history.Many, "unproved"
	}
	node := []string{"n1", "n2"}[t.rng.IntN(2)]
	t.read(key, node, r)
}

// read answers by the read rule and writes it down.
func (t *tier) read(key, node string, r history.Read) {
	k := t.keys[key]
	if k == nil {
		k = &simKey{}
		if key[0] == 'b' {
			k.useCase = 1
		}
	}
	n := t.nodes[node]
	r.Key, r.Node, r.Invoked = key, node, t.now
	r.Hot = key[2] == '0'
	if r.Bound == 0 && r.Mode != history.Strong {
		r.Bound = t.cases[k.useCase].Bound
	}
	token := max(r.Token, t.sessions[r.Session])
	judged := max(t.now, n.busy[key]) + t.between(1, 900)*1000
	e := n.entries[key]
	why := t.judge(k, e, judged, &r, token)
	if why == "" {
		r.Origin, r.AsOf, r.Answered = r.Origin+history.FromHit, max(e.asof, t.watermark(judged)), judged+1000
		t.counter(node, k.useCase).Hits++
	} else {
		e = t.fill(key, node, k, judged)
		t.counter(node, k.useCase).Fills[why]++
		r.Origin, r.AsOf, r.Answered = r.Origin+history.FromFill, e.asof, n.busy[key]+1000
	}
	r.Value, r.Upper = e.version.value, e.upper
	if r.Session != 0 {
		t.sessions[r.Session] = max(t.sessions[r.Session], e.upper)
		t.now = r.Answered
	}
	if r.Mode == history.Many {
		r.Origin, r.AsOf, r.Upper = history.NoProof, 0, 0
	}
	t.reads = append(t.reads, r)
}

// judge is the read rule: it says why an entry cannot answer.
func (t *tier) judge(k *simKey, e *simEntry, at history.Time, r *history.Read, token proxy.Time) string {
	switch {
	case e == nil:
		return "cold"
	case slices.ContainsFunc(k.seen, func(v simVersion) bool {
		a := t.arrival(v.visible)
		return e.stamped < a && a <= at
	}):
		return "changed"
	case r.Mode == history.Strong:
		return "strong"
	}
	asof := max(e.asof, t.watermark(at))
	switch {
	case t.source(at).Sub(asof) > r.Bound:
		return "expired"
	case asof < token:
		return "token"
	}
	return ""
}

// fill reads the source at some moment after at, and keeps what it read.
func (t *tier) fill(key, node string, k *simKey, at history.Time) *simEntry {
	looked := at + t.between(1, 3000)*1000
	ended := looked + t.between(1, 500)*1000
	e := &simEntry{asof: t.source(at), upper: t.source(ended), stamped: at}
	for _, v := range k.seen {
		if v.visible <= looked {
			e.version = v
		}
	}
	t.nodes[node].entries[key] = e
	t.nodes[node].busy[key] = ended
	t.fills = append(t.fills, history.Fill{Key: key, Node: node, Life: 1, Sent: at, Ended: ended})
	return e
}

func (t *tier) counter(node string, useCase int) *history.Counters {
	l := life{node, 1, useCase}
	if t.counts[l] == nil {
		t.counts[l] = &history.Counters{Node: node, Life: 1, UseCase: t.cases[useCase].Name, Fills: map[string]uint64{}, Dropped: 1 << 20}
	}
	return t.counts[l]
}

// judgeAll writes the history to a file and judges that.
func (t *tier) judgeAll(tb testing.TB) *Verdict {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "history.jsonl")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := t.save(f); err != nil {
		tb.Fatal(err)
	}
	v, err := Files(tb.Context(), tb.TempDir(), path)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func (t *tier) save(f *os.File) error {
	w := history.NewWriter(f)
	ended := make(chan error, 1)
	go func() { ended <- w.Run() }()
	l := w.Log()
	err := l.Add(t.few[0])
	for i := range t.writes {
		err = l.Write(&t.writes[i])
	}
	for i := range t.reads {
		err = l.Read(&t.reads[i])
	}
	for i := range t.fills {
		err = l.Fill(&t.fills[i])
	}
	for _, record := range t.few[1:] {
		err = l.Add(record)
	}
	if err == nil {
		err = l.Flush()
	}
	w.Close()
	if err == nil {
		err = <-ended
	}
	return err
}
