package run

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// countingNode is a deployment of one node, of which nothing but its counters
// is asked.
type countingNode struct {
	Deployment
	admin string
}

func (n *countingNode) Nodes() []string               { return []string{"n"} }
func (n *countingNode) Admin(string) (string, uint64) { return n.admin, 0 }

// countsLikeANode answers as /metrics does.
type countsLikeANode struct {
	began, hits int
	age         time.Duration
	busy        int    // how often it does not answer yet
	third       func() // is called when it is asked for the third time
	asked       int
}

func (n *countsLikeANode) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if n.asked++; n.asked == 3 && n.third != nil {
		n.third()
	}
	if n.busy--; n.busy >= 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if n.began > 0 {
		fmt.Fprintf(w, "freshet_start_time_seconds %d\n", n.began)
	}
	fmt.Fprintf(w, "freshet_watermark_age_seconds %f\n", n.age.Seconds())
	fmt.Fprintf(w, "freshet_cache_hits_total{use_case=\"a\"} %d\nfreshet_cache_hits_total{use_case=\"other\"} 99\n", n.hits)
}

// samplerOf samples one node that was there before.
func samplerOf(t *testing.T, n *countsLikeANode) *sampler {
	t.Helper()
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return &sampler{
		of: &countingNode{admin: strings.TrimPrefix(server.URL, "http://")}, log: history.NewWriter(io.Discard).Log(),
		useCases: []history.UseCase{{Name: "a"}}, live: true,
	}
}

// What a node counted before the run, and what it counts of others, is not the
// run's. A node that was started again counts from nothing.
func TestSamplesAreOfTheRun(t *testing.T) {
	n := &countsLikeANode{began: 100, hits: 7, busy: 2}
	s := samplerOf(t, n)
	if err := s.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ began, hits, want int }{{100, 7, 0}, {100, 10, 3}, {200, 5, 5}} {
		n.began, n.hits = step.began, step.hits
		counted, _, ok := s.ask(context.Background(), "n")
		if !ok || len(counted) != 1 || counted[0].Hits != uint64(step.want) || counted[0].Life != uint64(1000*step.began) {
			t.Errorf("%+v: %+v", step, counted)
		}
	}
}

// A run does not begin with a node that was there before and does not say what
// it has counted, or may still have rows of an earlier run.
func TestNoRunWithout(t *testing.T) {
	for what, n := range map[string]*countsLikeANode{
		"does not say":     {began: 100, busy: 1 << 20},
		"does not say ":    {hits: 7},
		"has not followed": {began: 100, age: time.Hour},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		n.third = cancel // in the middle of a question
		if err := samplerOf(t, n).begin(ctx); err == nil || !strings.HasPrefix(err.Error(), "n "+strings.TrimSpace(what)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	s := samplerOf(t, &countsLikeANode{busy: 1 << 20})
	s.live = false // it is not there yet
	if err := s.begin(t.Context()); err != nil {
		t.Error(err)
	}
}

// A node is asked itself, though the environment names a proxy.
func TestNoProxyIsAsked(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the proxy was asked")
		cancel()
	}))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	if _, err := Get(ctx, "192.0.2.1:6480", "/metrics"); err == nil { // of a network that is for documents
		t.Error("somebody answered")
	}
}
