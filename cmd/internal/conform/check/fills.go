package check

import (
	"cmp"
	"slices"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// door is where fills of one key by one life of a node pass.
type door struct {
	key, node string
	life      uint64
}

// oneAtATime is the half of C9 that is judged at the source's door: a fill is
// sent after the one before it has ended.
func (j *judge) oneAtATime() {
	for at, fills := range j.part.fills {
		slices.SortFunc(fills, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
		for i, f := range fills {
			j.counts[C9].Judged++
			j.counts[C9].Fills++
			if i > 0 && f.from < fills[i-1].to {
				j.fail(C9, Violation{At: f.from, Key: at.key, Node: at.node, What: "a fill was sent while another of the same key was under way"})
				f.to = max(f.to, fills[i-1].to)
				fills[i] = f
			}
		}
	}
}

// fill notes one fill.
func (j *judge) fill(f *history.Fill) error {
	u, err := j.w.caseOf(f.Key)
	if err != nil {
		return err
	}
	at := door{f.Key, f.Node, f.Life}
	j.part.fills[at] = append(j.part.fills[at], span{f.Sent, f.Ended})
	j.tally.fills[life{f.Node, f.Life, u.id}]++
	if f.Failed {
		j.causes[u.id].failed++
	}
	if f.Ended.Sub(f.Sent) > u.Bound {
		j.causes[u.id].slow++
	}
	return nil
}
