package check

import (
	"fmt"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// back is C11, for an answer.
func (j *judge) back(a *answer) {
	if !j.recovered(a.Read) {
		return
	}
	j.judgedAnswer(C11, a)
	if a.Outside {
		j.violated(C11, a.Read, "answered outside the bound")
	}
}

// unanswered is C10 and C11 for a read that got no answer.
func (j *judge) unanswered(r *history.Read) {
	if r.Probe != 0 {
		j.visibility(probeKey{int64(r.Bound), j.phase(r.Invoked)}).Unanswered++
	}
	if j.recovered(r) {
		j.judged(C11, r, false)
		j.violated(C11, r, "not answered: %s", r.Trouble)
	}
}

// recovered reports whether there were faults, and all was long over until a
// read had ended: the next one may have come while it was under way.
func (j *judge) recovered(r *history.Read) bool {
	i := phaseAt(j.w.phases, r.Invoked)
	p := &j.w.phases[i]
	return p.After && p.Name == Quiet && i == phaseAt(j.w.phases, r.Answered)
}

// A share of hits means something from minShare reads on, and is back when it
// has come to most of what it was.
const (
	minShare = 100
	most     = 0.8
)

// hitsAreBack is C11 for the share of hits on the hot head, in every stretch
// in which all faults are long over.
func (t *tally) hitsAreBack() {
	var before Share
	for i, p := range t.w.phases {
		if p.Name == Quiet && !p.After {
			before.add(t.hot[i])
		}
	}
	if before.Reads < minShare {
		return
	}
	for i, p := range t.w.phases {
		if p.Name != Quiet || !p.After || t.hot[i].Reads < minShare {
			continue
		}
		t.counts[C11].Judged++
		if was, is := before.hitShare(), t.hot[i].hitShare(); is < most*was {
			t.fail(C11, Violation{At: p.From, What: fmt.Sprintf("%.0f %% of the reads of the hot head are hits, and %.0f %% were before the faults", 100*is, 100*was)})
		}
	}
}
