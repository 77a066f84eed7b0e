package node

import (
	"context"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
)

// What a source says it is outlives a failover, and that it does not answer.
func TestIdentified(t *testing.T) {
	n := &Node{}
	var answer proxy.Identity
	var trouble error
	ask := n.identified(func(context.Context) (proxy.Identity, proxy.Time, error) { return answer, 1, trouble })
	for _, step := range []struct {
		id   proxy.Identity
		err  error
		want uint64
	}{
		{proxy.Identity{}, proxy.ErrUnavailable, 0},
		{proxy.Identity{System: 7, Timeline: 1}, nil, 7},
		{proxy.Identity{}, proxy.ErrNotPrimary, 7},
		{proxy.Identity{System: 7, Timeline: 2, Started: 5}, nil, 7},
		{proxy.Identity{System: 8, Timeline: 1}, nil, 8},
	} {
		answer, trouble = step.id, step.err
		if id, _, err := ask(t.Context()); id != step.id || err != step.err || n.system.Load() != step.want {
			t.Errorf("%+v: %+v, %v, system %d", step, id, err, n.system.Load())
		}
	}
}
