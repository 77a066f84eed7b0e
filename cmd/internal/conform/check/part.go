package check

import (
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// part is what is known of the keys of one part of the history.
type part struct {
	bare     *timeline
	lines    map[string]*timeline
	sessions *sessions
	through  map[nodeKey]floors // what went through a node
	fills    map[door][]span
}

// timeline returns the versions of a key, and whether it is the first time that
// it is asked for one that nobody wrote.
func (p *part) timeline(key string) (t *timeline, first bool) {
	if t = p.lines[key]; t != nil {
		return t, false
	}
	p.lines[key] = p.bare
	return p.bare, true
}

// writes gathers the writes of a part before its reads are judged.
type writes struct {
	byKey   map[string][]write
	wrote   map[sessionKey][]floor
	through map[nodeKey][]floor
}

// nodeKey is a key as one node has it.
type nodeKey struct{ node, key string }

func newWrites() *writes {
	return &writes{byKey: map[string][]write{}, wrote: map[sessionKey][]floor{}, through: map[nodeKey][]floor{}}
}

func (w *writes) add(r *history.Write) {
	w.byKey[r.Key] = append(w.byKey[r.Key], writeOf(r))
	if r.Outcome != history.Committed || r.Seq == 0 {
		return
	}
	if r.Session != 0 {
		k := sessionKey{r.Session, r.Key}
		w.wrote[k] = append(w.wrote[k], floor{r.Acked, r.Seq})
	}
	if r.Node != "" {
		k := nodeKey{r.Node, r.Key}
		w.through[k] = append(w.through[k], floor{r.Acked, r.Seq})
	}
}

// part puts the writes of each key in order.
func (w *writes) part(world *world) (*part, error) {
	p := &part{bare: world.bare, lines: make(map[string]*timeline, len(w.byKey)), fills: map[door][]span{}}
	for key, all := range w.byKey {
		u, err := world.caseOf(key)
		if err != nil {
			return nil, err
		}
		p.lines[key] = newTimeline(append(all, u.truncates...), world.clock)
		if p.lines[key].ambiguous() {
			return nil, &FormatError{What: "two writes of the key " + key + " have one place in the log"}
		}
	}
	p.sessions, p.through = newSessions(w.wrote), rising(w.through)
	return p, nil
}
