package check

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy"
)

// forever is later than every moment of a run, always earlier.
const (
	forever = history.Time(math.MaxInt64)
	always  = history.Time(math.MinInt64)
)

// write is one write of one key, visible or not.
type write struct {
	value   uint64
	outcome history.Outcome
	version
}

// version is what a key held from one write to the next.
type version struct {
	seq    uint64
	absent bool
	begun  history.Time // it was not visible before
	acked  history.Time // it was visible by then; forever: nobody knows
	token  proxy.Time   // a read with a token from here on must see it; Forever: it had none
}

// over says from when on it is certain that a version had been overwritten:
// by when, on each of three clocks, the first of the later ones was there.
type over struct {
	acked  history.Time
	source proxy.Time // the source's clock at acked, at its upper end
	token  proxy.Time
}

// timeline is the versions of one key in the order of the source's log. The
// first is the absence before everything.
type timeline struct {
	versions []version
	overs    []over    // overs[i] is of versions[i]
	absences []absence // by version
	values   []write   // those that made a value, by it
}

// absence is a version that is one.
type absence struct {
	version int
	begun   history.Time // the earliest begin of this absence and all later ones
}

// newTimeline puts the writes of a key in order.
func newTimeline(writes []write, clock *sourceClock) *timeline {
	t := &timeline{versions: []version{{absent: true, begun: always, acked: always, token: proxy.Never}}}
	for _, w := range writes {
		if clock.stepped(w.begun, w.acked) {
			w.token = proxy.Forever // it was made of a clock that was not to be trusted, and says nothing
		}
		if w.visible() {
			t.versions = append(t.versions, w.version)
		}
		if w.value != 0 {
			t.values = append(t.values, w)
		}
	}
	slices.SortStableFunc(t.versions[1:], func(a, b version) int { return cmp.Compare(a.seq, b.seq) })
	slices.SortFunc(t.values, func(a, b write) int { return cmp.Compare(a.value, b.value) })
	t.overs = make([]over, len(t.versions))
	end := over{acked: forever, source: proxy.Forever, token: proxy.Forever}
	begun := forever
	for i := len(t.versions) - 1; i >= 0; i-- {
		v := t.versions[i]
		t.overs[i] = end
		if v.acked < end.acked {
			end.acked, end.source = v.acked, proxy.Forever
			if _, hi, ok := clock.at(v.acked); ok {
				end.source = hi
			}
		}
		end.token = min(end.token, v.token)
		if v.absent {
			begun = min(begun, v.begun)
			t.absences = append(t.absences, absence{version: i, begun: begun})
		}
	}
	slices.Reverse(t.absences)
	return t
}

// latestAbsence is the last absence that can have been visible by a moment.
// Whatever else is asked of an answer, a later version meets it if an earlier
// one does, so "no such row" is right if it is right for this one.
func (t *timeline) latestAbsence(by history.Time) int {
	i := sort.Search(len(t.absences), func(i int) bool { return t.absences[i].begun > by })
	return t.absences[max(i-1, 0)].version
}

// earliestAbsence is the first absence of at least seq that may still have
// been visible after a moment; without one it is the last version.
func (t *timeline) earliestAbsence(seq uint64, after history.Time) int {
	i := sort.Search(len(t.absences), func(i int) bool {
		v := t.absences[i].version
		return t.versions[v].seq >= seq && t.overs[v].acked > after
	})
	if i == len(t.absences) {
		return len(t.versions) - 1
	}
	return t.absences[i].version
}

// laterBy reports whether some version behind index was acknowledged by a
// moment and has a token that is not above one. The moment matters where the
// source's clock was set back: the writes of a time yet to come then have
// tokens below those of old.
func (t *timeline) laterBy(index int, token proxy.Time, by history.Time) bool {
	for i := index; t.overs[i].acked <= by; {
		i++
		if v := t.versions[i]; v.token <= token && v.acked <= by {
			return true
		}
	}
	return false
}

// written returns the write that made a value.
func (t *timeline) written(value uint64) (w write, ok bool) {
	i, ok := slices.BinarySearchFunc(t.values, value, func(w write, v uint64) int { return cmp.Compare(w.value, v) })
	if !ok {
		return write{}, false
	}
	return t.values[i], true
}

// ambiguous reports whether two versions have one place.
func (t *timeline) ambiguous() bool {
	for i := 1; i < len(t.versions); i++ {
		if t.versions[i].seq == t.versions[i-1].seq {
			return true
		}
	}
	return false
}

// indexOf returns where the version of a seq is, or -1.
func (t *timeline) indexOf(seq uint64) int {
	i, ok := slices.BinarySearchFunc(t.versions, seq, func(v version, seq uint64) int { return cmp.Compare(v.seq, seq) })
	if !ok {
		return -1
	}
	return i
}

// writeOf takes what a timeline needs of a record.
func writeOf(r *history.Write) write {
	w := write{value: r.Value, outcome: r.Outcome, version: version{
		seq: r.Seq, absent: r.Value == 0, begun: r.Begun, acked: r.Acked, token: r.Token,
	}}
	if r.Outcome == history.Unknown {
		w.acked = forever
	}
	if r.Token == 0 {
		w.token = proxy.Forever
	}
	return w
}

// visible reports whether a write made a version: one that may have is one, but
// nothing is known to be over because of it.
func (w *write) visible() bool {
	return w.seq != 0 && (w.outcome == history.Committed || w.outcome == history.Unknown)
}
