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

// What a node counted before the run, and what it counts of others, is not the
// run's. A node that was started again counts from nothing.
func TestSamplesAreOfTheRun(t *testing.T) {
	began, hits, asked := 100, 7, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 { // it is busy
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintf(w, "process_start_time_seconds %d\nfreshet_cache_hits_total{use_case=\"a\"} %d\nfreshet_cache_hits_total{use_case=\"other\"} 99\n", began, hits)
	}))
	defer server.Close()
	s := &sampler{
		of: &countingNode{admin: strings.TrimPrefix(server.URL, "http://")}, log: history.NewWriter(io.Discard).Log(),
		useCases: []history.UseCase{{Name: "a"}}, live: true,
	}
	if err := s.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ began, hits, want int }{{100, 7, 0}, {100, 10, 3}, {200, 5, 5}} {
		began, hits = step.began, step.hits
		counted, _, ok := s.ask(context.Background(), "n")
		if !ok || len(counted) != 1 || counted[0].Hits != uint64(step.want) || counted[0].Life != uint64(1000*began) {
			t.Errorf("%+v: %+v", step, counted)
		}
	}
}

// A run does not begin with a node that was there before and does not say what
// it has counted.
func TestNoRunWithoutWhatWasCounted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s := &sampler{of: &countingNode{admin: "127.0.0.1:1"}, live: true}
	if err := s.begin(ctx); err == nil || !strings.HasPrefix(err.Error(), "n does not say") {
		t.Errorf("begun: %v", err)
	}
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
