package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy"
)

// fact is a version of a key, as a naive reader of a history finds it.
type fact struct {
	seq, value uint64
	begun      history.Time
	acked      history.Time // forever: never for certain
	token      proxy.Time   // Forever: none
}

// facts are the versions of a key in order, with the absence before them.
func (t *tier) facts(key string) []fact {
	out := []fact{{begun: always, acked: always, token: proxy.Never}}
	add := func(w history.Write) {
		f := fact{w.Seq, w.Value, w.Begun, w.Acked, w.Token}
		if w.Outcome == history.Unknown {
			f.acked = forever
		}
		if w.Token == 0 {
			f.token = proxy.Forever
		}
		if w.Outcome == history.Committed || w.Outcome == history.Unknown {
			out = append(out, f)
		}
	}
	for _, w := range t.writes {
		if w.Key == key {
			add(w)
		}
	}
	for _, record := range t.few {
		if x, ok := record.(*history.Truncate); ok && strings.HasPrefix(key, x.UseCase+":") {
			add(history.Write{Seq: x.Seq, Begun: x.Begun, Acked: x.Acked})
		}
	}
	slices.SortFunc(out, func(a, b fact) int { return cmp.Compare(a.seq, b.seq) })
	return out
}

// overBy reports whether some version behind index i meets a condition.
func overBy(facts []fact, i int, when func(fact) bool) bool {
	return slices.ContainsFunc(facts[i+1:], when)
}

// of returns which fact a read was answered with, if it can be told.
func of(facts []fact, value uint64) int {
	if value == 0 {
		return -1
	}
	return slices.IndexFunc(facts, func(f fact) bool { return f.value == value })
}
