package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// world is what a history says about more than one key. It is immutable once
// the keys are judged.
type world struct {
	run      history.Run
	end      history.Time // 0: the history was cut off
	cases    map[string]*useCase
	byID     []*useCase
	clock    *sourceClock
	bare     *timeline // of keys that nobody wrote: always absent
	phases   []Phase
	counters []history.Counters
	restarts map[string][]span // of a node: between the last counters of one life and the first of the next
	lags     []history.Lag
	faults   int
	unmade   []string      // faults that were to be, and were not
	width    time.Duration // of a slot
	slots    int
}

type useCase struct {
	history.UseCase
	id        int
	truncates []write
}

// cutOff reports whether the history has no end: then it may lack writes that
// have been read already.
func (w *world) cutOff() bool { return w.end == 0 }

// records gathers the records of which there are few.
type records struct {
	runs      []history.Run
	truncates []history.Truncate
	faults    []history.Fault
	clocks    []history.Clock
	counters  []history.Counters
	lags      []history.Lag
	end       history.Time
}

func (r *records) add(record any) {
	switch x := record.(type) {
	case *history.Run:
		r.runs = append(r.runs, *x)
	case *history.Truncate:
		r.truncates = append(r.truncates, *x)
	case *history.Fault:
		r.faults = append(r.faults, *x)
	case *history.Clock:
		r.clocks = append(r.clocks, *x)
	case *history.Counters:
		r.counters = append(r.counters, *x)
	case *history.Lag:
		r.lags = append(r.lags, *x)
	case *history.End:
		r.end = x.At
	}
}

// longest is what a run may last: more is no time but a slip.
const longest = 365 * 24 * time.Hour

// maxSlots is how fine the pictures over time are.
const maxSlots = 300

// world puts the records in order.
func (r *records) world() (*world, error) {
	if len(r.runs) != 1 {
		return nil, &FormatError{What: "a history begins with one record of its run"}
	}
	w := &world{run: r.runs[0], end: r.end, cases: map[string]*useCase{}, counters: r.counters, lags: r.lags}
	all := episodes(r.faults)
	w.faults = len(all)
	w.unmade = unmade(w.run.Faults, r.faults)
	var stepped []span
	for _, e := range all {
		if e.name == "" || e.name == Quiet || e.name == Recovering {
			return nil, &FormatError{What: fmt.Sprintf("a fault is called %q, as times without one are", e.name)}
		}
		if e.clocks {
			stepped = append(stepped, e.span)
		}
	}
	w.clock = newSourceClock(r.clocks, stepped)
	w.bare = newTimeline(nil, w.clock)
	last := r.last()
	if w.run.At < 0 || last.Sub(w.run.At) > longest {
		return nil, &FormatError{What: fmt.Sprintf("a run from %d to %d, in nanoseconds of its clock", w.run.At, last)}
	}
	w.phases = phasesOf(all, w.run.At, last)
	w.width = max(time.Second, last.Sub(w.run.At)/maxSlots)
	w.slots = int(last.Sub(w.run.At)/w.width) + 1
	slices.SortFunc(w.lags, func(a, b history.Lag) int { return cmp.Compare(a.At, b.At) })
	slices.SortFunc(w.counters, func(a, b history.Counters) int { return cmp.Compare(a.At, b.At) })
	w.restarts = restarts(w.counters)
	return w, w.useCases(r.truncates)
}

// restarts takes counters in order of time.
func restarts(counters []history.Counters) map[string][]span {
	out, last := map[string][]span{}, map[string]history.Counters{}
	for _, c := range counters {
		if before, known := last[c.Node]; known && before.Life != c.Life {
			out[c.Node] = append(out[c.Node], span{before.At, c.At})
		}
		last[c.Node] = c
	}
	return out
}

// forgotten reports whether a node may have been started again between two
// moments.
func (w *world) forgotten(node string, from, to history.Time) bool {
	return slices.ContainsFunc(w.restarts[node], func(s span) bool { return s.from < to && from <= s.to })
}

func (w *world) useCases(truncates []history.Truncate) error {
	for i, u := range w.run.UseCases {
		c := &useCase{UseCase: u, id: i}
		w.cases[u.Name] = c
		w.byID = append(w.byID, c)
	}
	for _, t := range truncates {
		c := w.cases[t.UseCase]
		if c == nil {
			return &FormatError{What: "a truncate of the use case " + t.UseCase + ", which the run does not have"}
		}
		c.truncates = append(c.truncates, writeOf(&history.Write{Seq: t.Seq, Begun: t.Begun, Acked: t.Acked, Outcome: t.Outcome}))
	}
	return nil
}

// last is the latest moment that a record of which there are few tells.
func (r *records) last() history.Time {
	last := max(r.runs[0].At, r.end)
	for _, c := range r.clocks {
		last = max(last, c.At)
	}
	for _, l := range r.lags {
		last = max(last, l.At)
	}
	for _, f := range r.faults {
		last = max(last, f.At)
	}
	return last
}

// caseOf returns the use case of a key.
func (w *world) caseOf(key string) (*useCase, error) {
	name, _, _ := strings.Cut(key, ":")
	if c := w.cases[name]; c != nil {
		return c, nil
	}
	return nil, &FormatError{What: "the key " + key + " is of no use case of the run"}
}

// FormatError is returned for a history that breaks the rules of its format.
type FormatError struct{ What string }

func (e *FormatError) Error() string { return "no sound history: " + e.What }
