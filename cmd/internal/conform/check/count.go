package check

import (
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// countRead counts what a report tells of a read, and what it may have caused.
func (j *judge) countRead(u *useCase, r *history.Read, lifted bool) {
	c := &j.causes[u.id]
	c.reads++
	switch {
	case r.Mode == history.Strong:
		c.strong++
	case r.Token != 0 || r.Session != 0:
		c.tokens++
	case r.Bound < u.Bound:
		c.demanding++
	}
	if r.Trouble != history.NoTrouble || r.Outside || r.Answered.Sub(r.Invoked) > u.Bound {
		c.waited++
	}
	s := j.slot(r.Invoked)
	s.Reads++
	if r.Trouble != history.NoTrouble {
		s.Troubles++
	}
	j.countAnswer(r, lifted)
	if r.Origin == history.NoProof {
		return
	}
	one := Share{Reads: 1}
	if r.Origin == history.FromHit {
		one.Hits = 1
	}
	if lifted {
		one.Lifted = 1
	}
	s.Proved++
	s.Hits += one.Hits
	if r.Hot && (r.Mode == history.Plain || r.Mode == history.Many) {
		s.Hot.add(one)
		j.hot[phaseAt(j.w.phases, r.Invoked)].add(one)
	}
}

func (j *judge) countAnswer(r *history.Read, lifted bool) {
	n := &j.reads
	n.All++
	n.ByMode[r.Mode]++
	switch r.Trouble {
	case history.NoTrouble:
		n.Answered++
	case history.Unavailable:
		n.Unavailable++
	case history.Lost:
		n.Lost++
	default:
		n.Refused++
	}
	if r.Answer() && r.Value == 0 {
		n.Absent++
	}
	if r.Origin != history.NoProof {
		n.Proved++
	}
	if r.Origin == history.FromHit {
		n.Hits++
	}
	if lifted {
		n.Lifted++
	}
	if r.Outside {
		n.Outside++
	}
}

// countWrite counts what writers did, and what they tried.
func (t *tally) countWrite(w *history.Write) {
	if u, err := t.w.caseOf(w.Key); err == nil {
		t.causes[u.id].writes++
	}
	what := w.Op
	if w.Outcome != history.Committed {
		what = string(w.Outcome)
	}
	t.writes[what]++
}

// countAge counts how long an answer had been overwritten.
func (j *judge) countAge(a *answer, age time.Duration) {
	j.histogram(staleKey{a.useCase.id, j.phase(a.Invoked), a.Outside}).add(age)
}
