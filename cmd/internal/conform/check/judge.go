package check

import (
	"fmt"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// judge holds the reads of one part of the history against its versions: C0 to
// C8, and C10. A part has all records of its keys.
type judge struct {
	*tally
	part *part
}

// answer is a read and the version that it was answered with.
type answer struct {
	*history.Read
	useCase *useCase
	line    *timeline
	index   int // of the version
	version version
	over    over
	lifted  bool
}

// read judges one read.
func (j *judge) read(r *history.Read) error {
	u, err := j.w.caseOf(r.Key)
	if err != nil {
		return err
	}
	lifted := j.isLifted(r)
	j.countRead(u, r, lifted)
	if r.Trouble != history.NoTrouble {
		j.unanswered(r)
		return nil
	}
	j.judged(C0, r, lifted)
	a, ok := j.answerOf(u, r)
	if !ok {
		return nil
	}
	a.lifted = lifted
	j.visible(a)
	j.honest(a)
	j.fresh(a)
	j.rule(a)
	j.token(a)
	j.through(a)
	j.session(a)
	j.probe(a)
	j.back(a)
	return nil
}

// isLifted reports whether r is a hit that its own reading of the source would
// not have allowed any more: only the stream vouched for it.
func (j *judge) isLifted(r *history.Read) bool {
	if r.Origin != history.FromHit || r.Upper == 0 {
		return false
	}
	lo, _, ok := j.w.clock.at(r.Invoked)
	return ok && lo.Sub(r.Upper) > r.Bound
}

// answerOf finds the version that r was answered with (C0).
func (j *judge) answerOf(u *useCase, r *history.Read) (a *answer, ok bool) {
	a = &answer{Read: r, useCase: u}
	var first bool
	if a.line, first = j.part.timeline(r.Key); first {
		j.causes[u.id].keys++
	}
	switch {
	case r.Odd != "":
		j.violated(C0, r, "answered %q, which is no value of this key", r.Odd)
		return nil, false
	case r.Value == 0 && j.w.cutOff():
		return nil, false // of which delete, is written down at the end
	case r.Value == 0:
		a.index = a.line.latestAbsence(r.Answered)
	default:
		at, written := a.line.written(r.Value)
		switch {
		case !written && j.w.cutOff():
			return nil, false
		case !written:
			j.violated(C0, r, "answered with value %d, which nobody wrote to it", r.Value)
			return nil, false
		case at.outcome == history.Passed:
			j.judged(C1, r, false)
			j.violated(C1, r, "answered with value %d, which its own transaction wrote over", r.Value)
			return nil, false
		case at.outcome == history.RolledBack:
			j.violated(C0, r, "answered with value %d, which was rolled back", r.Value)
			return nil, false
		case at.seq == 0: // nobody knows its place
			return nil, false
		}
		a.index = a.line.indexOf(at.seq)
	}
	a.version, a.over = a.line.versions[a.index], a.line.overs[a.index]
	return a, true
}

// visible is C1.
func (j *judge) visible(a *answer) {
	j.judgedAnswer(C1, a)
	if a.version.begun > a.Answered {
		j.violated(C1, a.Read, "answered with %s %s before it was written", a.name(), a.version.begun.Sub(a.Answered))
	}
}

// honest is C2.
func (j *judge) honest(a *answer) {
	if a.AsOf == 0 {
		return
	}
	if _, _, ok := j.w.clock.at(a.Answered); !ok {
		return
	}
	j.judgedAnswer(C2, a)
	if a.over.source <= a.AsOf {
		// What was acked after the answer is before its as-of only by a clock
		// that was set back in between.
		j.violatedByAge(C2, a, min(max(a.over.acked, j.since(a)), a.Invoked), max(a.over.acked, a.Answered), "%s was overwritten %s before its as-of", a.name(), a.AsOf.Sub(a.over.source))
	}
}

// fresh is C3, for STRONG reads C7, for "no such row" C8.
func (j *judge) fresh(a *answer) {
	id, bound := C3, j.bound(a)
	switch {
	case a.Mode == history.Strong:
		id = C7
	case a.version.absent:
		id = C8
	}
	j.judgedAnswer(id, a)
	age := a.Invoked.Sub(a.over.acked) // may be as far below zero as it wants
	if a.over.acked == forever {
		age = 0
	}
	if bound == a.useCase.Bound && a.Mode != history.Strong || a.Outside {
		j.countAge(a, age)
	}
	if a.over.acked == forever || age < bound {
		return
	}
	what := fmt.Sprintf("%s had been overwritten for %s when the read began, and %s are allowed", a.name(), age, bound)
	if id == C7 { // which no clock has a part in
		j.violated(id, a.Read, "%s", what)
		return
	}
	j.violatedByAge(id, a, j.since(a), a.Answered, "%s", what)
}

// since is how far back what a node knows of the clocks has a part in an
// answer. A step that was noticed earlier is no excuse: it empties the node.
func (j *judge) since(a *answer) history.Time { return a.Invoked.Add(-j.bound(a)) }

// bound is what an answer may be late by. Where the use case prefers stale
// answers to none, a reply without a proof does not tell which it is.
func (j *judge) bound(a *answer) time.Duration {
	if a.Outside || a.Origin == history.NoProof && a.mayBeStale() {
		return max(a.Bound, a.useCase.MaxStale)
	}
	return a.Bound
}

// mayBeStale reports whether an answer may be outside the bound, which none is
// that was asked for with a bound of its own.
func (a *answer) mayBeStale() bool {
	return a.useCase.MaxStale > 0 && a.Mode != history.MaxStale && a.Mode != history.Strong
}

// rule is C4. A fill that was sent after the read arrived satisfies any bound
// and any token, whatever its as-of.
func (j *judge) rule(a *answer) {
	lo, _, known := j.w.clock.at(a.Invoked)
	_, hi, knownToo := j.w.clock.at(a.Answered)
	if a.AsOf == 0 || !known || !knownToo {
		return
	}
	j.judgedAnswer(C4, a)
	switch {
	case a.AsOf > hi:
		j.violatedByAge(C4, a, a.Invoked, a.Answered, "its as-of is %s ahead of the source's clock", a.AsOf.Sub(hi))
	case a.Outside && !a.mayBeStale():
		j.violated(C4, a.Read, "answered outside the bound, which nobody asked for")
	case a.Origin == history.FromFill:
	case a.Mode == history.Strong:
		j.violated(C4, a.Read, "a STRONG read was a %s", a.Origin)
	case lo.Sub(a.AsOf) > j.bound(a):
		j.violatedByAge(C4, a, a.Invoked, a.Answered, "its as-of was %s old when the read began, and %s are allowed", lo.Sub(a.AsOf), j.bound(a))
	case a.Origin == history.FromHit && a.useCase.TTLMax > 0 && a.Upper != 0 && lo.Sub(a.Upper) > a.useCase.TTLMax:
		j.violatedByAge(C4, a, a.Invoked, a.Answered, "it was last read or changed %s before, and an entry lives for %s", lo.Sub(a.Upper), a.useCase.TTLMax)
	case a.AsOf < a.Token:
		j.violated(C4, a.Read, "its as-of is %s before the token", a.Token.Sub(a.AsOf))
	}
}

// token is C5.
func (j *judge) token(a *answer) {
	if a.Token == 0 {
		return
	}
	j.judgedAnswer(C5, a)
	if a.over.token <= a.Token && a.line.laterBy(a.index, a.Token, a.Invoked) {
		j.violated(C5, a.Read, "answered with %s, and its token is of a later one", a.name())
	}
}

// through is C5 for a read without a token, at a node that a write went through:
// whatever the node has, it is no older than that, until it is started again.
func (j *judge) through(a *answer) {
	floor := j.part.through[nodeKey{a.Node, a.Key}].at(a.Invoked)
	if floor.seq == 0 || a.Outside || j.w.forgotten(a.Node, floor.at, a.Answered) {
		return
	}
	j.judgedAnswer(C5, a)
	if a.version.seq < floor.seq {
		j.violated(C5, a.Read, "answered with %s, and version %d went through this node before", a.name(), floor.seq)
	}
}

// session is C6.
func (j *judge) session(a *answer) {
	if a.Session == 0 {
		return
	}
	j.judgedAnswer(C6, a)
	k := sessionKey{a.Session, a.Key}
	knew, sees := j.part.sessions.knew(k, a.Invoked), a.version.seq
	if sees < knew {
		j.violated(C6, a.Read, "answered with %s, and session %d knew %d already", a.name(), a.Session, knew)
		return
	}
	if a.version.absent { // which of several absences it was, nobody can tell
		sees = a.line.versions[a.line.earliestAbsence(knew, a.Invoked.Add(-j.bound(a)))].seq
	}
	j.part.sessions.sees(k, a.Answered, min(sees, a.version.seq))
}

// probe is C10.
func (j *judge) probe(a *answer) {
	if a.Probe == 0 {
		return
	}
	i := a.line.indexOf(a.Probe)
	if i < 0 {
		return
	}
	wanted := a.line.versions[i]
	if wanted.acked == forever || a.Invoked.Sub(wanted.acked) < a.Bound {
		return
	}
	j.judgedAnswer(C10, a)
	v := j.visibility(probeKey{int64(a.Bound), j.phase(a.Invoked)})
	v.Probes++
	if a.Origin == history.FromHit {
		v.Hits++
	}
	if a.version.seq >= a.Probe {
		return
	}
	v.Late++
	if !a.Outside && j.bound(a) <= a.Bound {
		j.violatedByAge(C10, a, j.since(a), a.Answered, "answered with %s, %s after %d was acknowledged", a.name(), a.Invoked.Sub(wanted.acked), a.Probe)
	}
}

func (a *answer) name() string {
	if a.version.absent {
		return fmt.Sprintf("an absence (%d)", a.version.seq)
	}
	return fmt.Sprintf("version %d", a.version.seq)
}

func (j *judge) phase(at history.Time) string { return j.w.phases[phaseAt(j.w.phases, at)].Name }

func (j *judge) judgedAnswer(id ID, a *answer) { j.judged(id, a.Read, a.lifted) }

func (j *judge) judged(id ID, r *history.Read, lifted bool) {
	c := &j.counts[id]
	c.Judged++
	switch r.Origin {
	case history.FromHit:
		c.Hits++
	case history.FromFill:
		c.Fills++
	}
	if lifted {
		c.Lifted++
	}
}

func (j *judge) violated(id ID, r *history.Read, what string, args ...any) {
	how := string(r.Mode)
	if r.Origin != history.NoProof {
		how += ", " + string(r.Origin)
	}
	j.fail(id, Violation{At: r.Answered, Key: r.Key, Node: r.Node, What: fmt.Sprintf(what, args...) + " (" + how + ")"})
}

// violatedByAge is violated for a finding that rests on the clocks, which must
// not have been stepped from one moment to another.
func (j *judge) violatedByAge(id ID, a *answer, from, to history.Time, what string, args ...any) {
	if j.w.clock.stepped(min(from, to), to) {
		j.counts[id].Excused++
		return
	}
	j.violated(id, a.Read, what, args...)
}
