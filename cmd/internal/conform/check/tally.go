package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// maxSamples is how many violations of one check are kept to be shown.
const maxSamples = 50

// tally is what is counted while keys are judged, one for each part of the
// history; merge adds them up.
type tally struct {
	w         *world
	counts    [checks]Count
	samples   [checks][]Violation
	reads     Reads
	writes    map[string]int
	hot       []Share // by phase
	slots     []Slot
	staleness map[staleKey]*Histogram
	probes    map[probeKey]*Visibility
	causes    []causes // by use case
	fills     map[life]uint64
}

type staleKey struct {
	useCase int
	phase   string
	outside bool
}

type probeKey struct {
	bound int64
	phase string
}

// life is one life of one node, and one use case of it.
type life struct {
	node    string
	number  uint64
	useCase int
}

func newTally(w *world) *tally {
	return &tally{
		w:         w,
		reads:     Reads{ByMode: map[history.Mode]uint64{}},
		writes:    map[string]int{},
		hot:       make([]Share, len(w.phases)),
		slots:     make([]Slot, w.slots),
		staleness: map[staleKey]*Histogram{},
		probes:    map[probeKey]*Visibility{},
		causes:    make([]causes, len(w.byID)),
		fills:     map[life]uint64{},
	}
}

// fail notes a violation.
func (t *tally) fail(id ID, v Violation) {
	t.counts[id].Violated++
	t.slot(v.At).Violated[id]++
	v.Check = id.String()
	v.Phase = t.w.phases[phaseAt(t.w.phases, v.At)].Name
	t.samples[id] = append(t.samples[id], v)
	if len(t.samples[id]) >= 2*maxSamples {
		t.samples[id] = earliest(t.samples[id])
	}
}

func earliest(all []Violation) []Violation {
	slices.SortStableFunc(all, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	return all[:min(len(all), maxSamples)]
}

func (t *tally) slot(at history.Time) *Slot {
	i := int(at.Sub(t.w.run.At) / t.w.width)
	return &t.slots[min(max(i, 0), len(t.slots)-1)]
}

func (t *tally) merge(o *tally) {
	for id := range t.counts {
		a, b := &t.counts[id], o.counts[id]
		a.Judged += b.Judged
		a.Hits += b.Hits
		a.Fills += b.Fills
		a.Lifted += b.Lifted
		a.Excused += b.Excused
		a.Violated += b.Violated
		t.samples[id] = earliest(append(t.samples[id], o.samples[id]...))
	}
	t.reads.add(&o.reads)
	for what, n := range o.writes {
		t.writes[what] += n
	}
	for i := range o.hot {
		t.hot[i].add(o.hot[i])
	}
	for i := range o.slots {
		t.slots[i].add(&o.slots[i])
	}
	for k, h := range o.staleness {
		t.histogram(k).merge(h)
	}
	for k, v := range o.probes {
		t.visibility(k).add(v)
	}
	for i := range o.causes {
		t.causes[i].add(&o.causes[i])
	}
	for k, n := range o.fills {
		t.fills[k] += n
	}
}

func (t *tally) histogram(k staleKey) *Histogram {
	if t.staleness[k] == nil {
		t.staleness[k] = &Histogram{}
	}
	return t.staleness[k]
}

func (t *tally) visibility(k probeKey) *Visibility {
	if t.probes[k] == nil {
		t.probes[k] = &Visibility{}
	}
	return t.probes[k]
}

func (v *Visibility) add(o *Visibility) {
	v.Probes += o.Probes
	v.Late += o.Late
	v.Unanswered += o.Unanswered
	v.Hits += o.Hits
}

func (s *Slot) add(o *Slot) {
	s.Reads += o.Reads
	s.Troubles += o.Troubles
	s.Proved += o.Proved
	s.Hits += o.Hits
	s.Hot.add(o.Hot)
	for id, n := range o.Violated {
		s.Violated[id] += n
	}
}

func (r *Reads) add(o *Reads) {
	r.All += o.All
	for mode, n := range o.ByMode {
		r.ByMode[mode] += n
	}
	r.Answered += o.Answered
	r.Absent += o.Absent
	r.Proved += o.Proved
	r.Hits += o.Hits
	r.Lifted += o.Lifted
	r.Outside += o.Outside
	r.Unavailable += o.Unavailable
	r.Lost += o.Lost
	r.Refused += o.Refused
}

// ID names a check.
type ID int

// The checks of contract 9.
const (
	C0 ID = iota
	C1
	C2
	C3
	C4
	C5
	C6
	C7
	C8
	C9
	C10
	C11
	checks
)

func (id ID) String() string { return fmt.Sprintf("C%d", int(id)) }

// Named reports whether a check has that name.
func Named(name string) bool {
	for id := range checks {
		if id.String() == name {
			return true
		}
	}
	return false
}

// Says is a check in one sentence.
func (id ID) Says() string {
	return [checks]string{
		"a value is of the key that was asked for, and was committed",
		"a value is not from the future: it was visible by the time it was answered",
		"no later version was visible at an answer's as-of",
		"a value was not overwritten longer than Δ before its read began",
		"an answer's as-of is as young as its read asked for, and not ahead of the source's clock",
		"a read sees the writes that its token is of, those before them, and those that went through its node",
		"within a session, versions of a key never go back",
		"a STRONG read sees all that was committed before it began",
		"\"no such row\" is not older than Δ either",
		"one fill per key and node at a time, each with a cause, and as many as were counted",
		"Δ after a write was acknowledged, every node answers with it",
		"ten seconds after a fault, all reads are answered within the bound, from memory as before",
	}[id]
}
