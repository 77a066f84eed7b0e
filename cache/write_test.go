package cache

import (
	"context"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// unmet finds no condition to hold, and shows the row as it is.
type unmet struct{ *fakeSource }

func (s unmet) Apply(_ context.Context, writes []proxy.Write, results []proxy.Written) {
	for i, w := range writes {
		results[i] = proxy.Written{Old: s.rows[string(w.Key.Text)]}
	}
}

// A write that was not carried out tells of the row: what is cached of it may
// be older, and is void too.
func TestAnUnmetConditionVoids(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Hour})
	w.source.set("users:1", "a")
	w.read(t, "users:1", proxy.Freshness{})
	w.source.set("users:1", "b")
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "a", proxy.FromCache)
	w.next = unmet{w.source}
	out := make([]proxy.Written, 1)
	w.Apply(t.Context(), []proxy.Write{{Key: w.key(t, "users:1"), If: proxy.IfAbsent, Old: true}}, out)
	if out[0].Done || text(out[0].Old) != "b" || out[0].Token != w.clock.now() {
		t.Errorf("got %+v", out[0])
	}
	w.want(t, w.read(t, "users:1", proxy.Freshness{}), "b", proxy.FromFill)
}
