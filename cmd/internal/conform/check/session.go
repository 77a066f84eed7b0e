package check

import (
	"cmp"
	"slices"
	"sort"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// floor says that from a moment on a session knew a version.
type floor struct {
	at  history.Time
	seq uint64
}

// floors are those of one session and one key, rising in both.
type floors []floor

// maxFloors is how many are kept of one session and key: only commands that
// are under way at once need more than the last.
const maxFloors = 256

// raise notes that the session knew seq at a moment; moments come in order.
func (f *floors) raise(at history.Time, seq uint64) {
	if n := len(*f); n > 0 && (*f)[n-1].seq >= seq {
		return
	}
	*f = append(*f, floor{at, seq})
	if len(*f) > maxFloors {
		*f = slices.Delete(*f, 0, maxFloors/2)
	}
}

// at returns what the session knew at a moment: nothing is version 0.
func (f floors) at(t history.Time) floor {
	i := sort.Search(len(f), func(i int) bool { return f[i].at > t })
	if i == 0 {
		return floor{}
	}
	return f[i-1]
}

// sessionKey names the floors of one session and one key.
type sessionKey struct {
	session uint64
	key     string
}

// sessions knows what each session knew of the keys of one part of the
// history: by its own writes, and by its reads so far.
type sessions struct {
	wrote, saw map[sessionKey]floors
}

// newSessions takes the writes that sessions made, in any order.
func newSessions(wrote map[sessionKey][]floor) *sessions {
	return &sessions{wrote: rising(wrote), saw: map[sessionKey]floors{}}
}

// rising puts floors in order, and leaves out those that say nothing new.
func rising[K comparable](wrote map[K][]floor) map[K]floors {
	out := make(map[K]floors, len(wrote))
	for k, all := range wrote {
		slices.SortFunc(all, func(a, b floor) int { return cmp.Compare(a.at, b.at) })
		var rising floors
		for _, f := range all {
			if n := len(rising); n == 0 || rising[n-1].seq < f.seq {
				rising = append(rising, f)
			}
		}
		out[k] = rising
	}
	return out
}

func (s *sessions) knew(k sessionKey, at history.Time) uint64 {
	return max(s.wrote[k].at(at).seq, s.saw[k].at(at).seq)
}

func (s *sessions) sees(k sessionKey, at history.Time, seq uint64) {
	f := s.saw[k]
	f.raise(at, seq)
	s.saw[k] = f
}
