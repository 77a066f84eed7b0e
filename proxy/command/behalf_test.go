package command

import (
	"context"
	"slices"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
)

// whose is a Source that remembers the contexts it is asked with.
type whose struct {
	still
	asked []context.Context
}

func (w *whose) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	w.asked = append(w.asked, ctx)
	w.still.Load(ctx, reqs, results)
}

func (w *whose) Apply(ctx context.Context, ws []proxy.Write, written []proxy.Written) {
	w.asked = append(w.asked, ctx)
}

// A Source learns on whose behalf it is asked, in one context per login.
func TestASourceLearnsWhoAsks(t *testing.T) {
	all, low := someUsers(t), &proxy.Caller{Name: "low", Low: true}
	all["ann pw"].Caller = &proxy.Caller{Name: "ann"}
	rights := *all["default secret"]
	rights.Caller = low
	all["low pw"] = &rights
	source := &whose{}
	session := New(catalog(t), source, nil, Options{Users: all}).NewSession()
	do(session, "AUTH ann pw\nGET users:1\n")
	do(session, "GET users:2\nSET key:1 x\nAUTH low pw\nGET key:1\nAUTH secret\nGET key:1\n")
	var names []string
	for _, ctx := range source.asked {
		name := "nobody"
		if c := proxy.CallerOf(ctx); c != nil {
			name = c.Name
		}
		names = append(names, name)
	}
	if want := []string{"ann", "ann", "ann", "low", "nobody"}; !slices.Equal(names, want) {
		t.Fatalf("asked on behalf of %v, want %v", names, want)
	}
	if source.asked[0] != source.asked[1] || source.asked[1] != source.asked[2] {
		t.Error("a login has several contexts")
	}
	if c := proxy.CallerOf(source.asked[3]); c != low {
		t.Errorf("the caller is %v", c)
	}
}
