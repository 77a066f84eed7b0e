package check

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// recovery is what the tier has to be itself again after a fault (C11).
const recovery = 10 * time.Second

// episode is one fault, from its begin to its end.
type episode struct {
	name   string
	clocks bool
	span
}

// episodes pairs begins with ends. A fault that never ended lasts.
func episodes(faults []history.Fault) []episode {
	var out []episode
	open := map[uint64]int{}
	faults = slices.Clone(faults)
	slices.SortStableFunc(faults, func(a, b history.Fault) int { return cmp.Compare(a.At, b.At) })
	for _, f := range faults {
		if i, begun := open[f.ID]; begun && f.End {
			out[i].to = f.At
			delete(open, f.ID)
		} else if !f.End {
			open[f.ID] = len(out)
			out = append(out, episode{name: f.Name, clocks: f.Clocks, span: span{f.At, forever}})
		}
	}
	return out
}

// unmade are those of the faults planned that never began.
func unmade(planned []string, begun []history.Fault) []string {
	made := map[string]bool{}
	for i := range begun {
		made[begun[i].String()] = true
	}
	return slices.DeleteFunc(slices.Clone(planned), func(name string) bool { return made[name] })
}

// phasesOf cuts the run into stretches of the same faults, from its begin to
// its end, without holes.
func phasesOf(all []episode, begin, end history.Time) []Phase {
	cuts := []history.Time{begin}
	for _, e := range all {
		cuts = append(cuts, e.from)
		if e.to != forever {
			cuts = append(cuts, e.to, e.to.Add(recovery))
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []Phase
	for i, from := range cuts {
		to := end
		if i+1 < len(cuts) {
			to = min(to, cuts[i+1])
		}
		if from < begin || from >= to {
			continue
		}
		name, after := nameAt(all, from)
		if n := len(out); n > 0 && out[n-1].Name == name {
			out[n-1].To = to
			continue
		}
		out = append(out, Phase{Name: name, From: from, To: to, After: after})
	}
	if len(out) == 0 {
		out = append(out, Phase{Name: Quiet, From: begin, To: begin})
	}
	return out
}

// nameAt says what was going on from a moment on, and whether a fault began
// before it.
func nameAt(all []episode, t history.Time) (name string, after bool) {
	var names []string
	recovering := false
	for _, e := range all {
		after = after || e.from < t
		switch {
		case e.from <= t && t < e.to:
			names = append(names, e.name)
		case e.to <= t && t < e.to.Add(recovery):
			recovering = true
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(names) > 0:
		return strings.Join(names, " + "), after
	case recovering:
		return Recovering, after
	}
	return Quiet, after
}

// phaseAt returns the index of the phase of a moment; what lies outside of the
// run counts to its ends.
func phaseAt(phases []Phase, t history.Time) int {
	i := sort.Search(len(phases), func(i int) bool { return phases[i].From > t })
	return max(i-1, 0)
}
