package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// What a run must have shown to mean something (contract 9): a tier that always
// fills would break no check.
const (
	minHealthy  = 500 // reads of the hot head with a proof, while nothing was wrong
	hitShare    = 0.8 // of them are hits
	liftedShare = 0.5 // of the hits were kept fresh by the stream alone
)

// verdict judges what is judged of the whole run, and says what came out.
func (t *tally) verdict() *Verdict {
	w := t.w
	end := cmp.Or(w.end, w.phases[len(w.phases)-1].To)
	t.fillsHaveCauses(end.Sub(w.run.At))
	t.hitsAreBack()
	v := &Verdict{
		Run: w.run, Ended: w.end, Reads: t.reads, Writes: t.writes, Reasons: map[string]int{},
		Phases: w.phases, Unmade: w.unmade, SlotWidth: w.width, Slots: t.slots, Lags: w.lags,
	}
	for id := range checks {
		c := t.counts[id]
		c.ID, c.Says = id.String(), id.Says()
		v.Checks = append(v.Checks, c)
		v.Violations = append(v.Violations, earliest(t.samples[id])...)
	}
	for i := range v.Phases {
		v.Phases[i].Hot = t.hot[i]
		if v.Phases[i].Name == Quiet {
			v.Healthy.add(t.hot[i])
		}
	}
	for _, n := range t.fills {
		v.Fills += n
	}
	for _, u := range w.byID {
		sum, _ := w.countedBy(u)
		for reason, n := range sum.Fills {
			v.Reasons[reason] += int(n)
			if w.run.Live { // nobody else has counted them
				v.Fills += n
			}
		}
	}
	t.distributions(v)
	v.Missing, v.Unchecked = t.missing(v), t.unchecked()
	v.Result = result(v)
	return v
}

func result(v *Verdict) Result {
	switch {
	case slices.ContainsFunc(v.Checks, func(c Count) bool { return c.Violated > 0 }):
		return Violated
	case len(v.Missing) > 0:
		return Inconclusive
	}
	return Held
}

func (t *tally) distributions(v *Verdict) {
	for k, h := range t.staleness {
		u := t.w.byID[k.useCase]
		v.Staleness = append(v.Staleness, Staleness{UseCase: u.Name, Phase: k.phase, Bound: u.Bound, Outside: k.outside, Histogram: *h})
	}
	slices.SortFunc(v.Staleness, func(a, b Staleness) int {
		return cmp.Or(cmp.Compare(a.UseCase, b.UseCase), quietFirst(a.Phase, b.Phase), cmp.Compare(b2i(a.Outside), b2i(b.Outside)))
	})
	for k, p := range t.probes {
		p.Bound, p.Phase = time.Duration(k.bound), k.phase
		v.Visibility = append(v.Visibility, *p)
	}
	slices.SortFunc(v.Visibility, func(a, b Visibility) int {
		return cmp.Or(cmp.Compare(a.Bound, b.Bound), quietFirst(a.Phase, b.Phase))
	})
}

// quietFirst orders phases by name, but what is no fault comes first.
func quietFirst(a, b string) int {
	rank := map[string]int{Quiet: -2, Recovering: -1}
	return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a, b))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// missing says why the run proves too little, in words.
func (t *tally) missing(v *Verdict) []string {
	var out []string
	miss := func(when bool, what string, args ...any) {
		if when {
			out = append(out, fmt.Sprintf(what, args...))
		}
	}
	miss(v.Ended == 0, "the history has no end: the run was cut off")
	for id := range checks {
		miss(t.counts[id].Judged == 0 && (id != C11 || t.w.faults > 0), "%s had nothing to judge: %s", id, t.reasonFor(id))
	}
	h := v.Healthy
	miss(h.Reads < minHealthy, "while nothing was wrong there were %d reads of the hot head with a proof, and %d are asked for", h.Reads, minHealthy)
	miss(h.hitShare() < hitShare, "while nothing was wrong %.1f %% of the reads of the hot head were hits, and %.0f %% are asked for", 100*h.hitShare(), 100*hitShare)
	lifted := ratio(h.Lifted, h.Hits)
	miss(lifted < liftedShare, "while nothing was wrong %.1f %% of the hits on the hot head were older than Δ but for the stream, and %.0f %% are asked for", 100*lifted, 100*liftedShare)
	return out
}

// unchecked says what a deployment that was there before does not tell.
func (t *tally) unchecked() []string {
	if !t.w.run.Live {
		return nil
	}
	return []string{
		"C9, in part: whether a key was filled twice at once, and whether all fills were counted. Only nodes that freshet conform starts itself write down what they ask of the database",
		"C9, in part: how many fills the neighbours of changed keys account for. What others change is not in the history",
	}
}

// reasonFor says what a check needs.
func (t *tally) reasonFor(id ID) string {
	switch id {
	case C2, C4:
		return "no reply had a proof, or the source's clock was not recorded"
	case C5:
		return "no read had a token"
	case C6:
		return "no read was in a session"
	case C7:
		return "no read was STRONG"
	case C8:
		return "no key was absent"
	case C9:
		return "neither fills nor counters were recorded"
	case C10:
		return "no write was looked for Δ later"
	case C11:
		return "the run ended within ten seconds of a fault; let it last longer (--duration)"
	}
	return fmt.Sprintf("%d reads, of which %d were answered", t.reads.All, t.reads.Answered)
}

// Changes is how many versions of keys there came to be, beside truncates.
func (v *Verdict) Changes() (n int) {
	for what, times := range v.Writes {
		switch history.Outcome(what) {
		case history.RolledBack, history.Passed, history.Unknown:
		default:
			n += times
		}
	}
	return n
}

// Actions are what writers did, in the order of their names.
func (v *Verdict) Actions() []string { return slices.Sorted(maps.Keys(v.Writes)) }
