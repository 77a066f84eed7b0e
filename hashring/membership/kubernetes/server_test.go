package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-cache/freshet/hashring/membership"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is an API server of one Service: what a fake client set would skip is
// what it does wrong.
type server struct {
	t    *testing.T
	http *httptest.Server

	mu      sync.Mutex
	opened  *sync.Cond // a watch
	slices  map[string]discovery.EndpointSlice
	version int
	streams bool              // initial lists by watches, as newer servers do
	refuse  func() int        // a status instead of an answer
	header  map[string]string // of a refusal
	mute    bool              // watches are heard of, and never answered
	watches []chan string     // of those that are open
	history []change
	lists   int
}

// change is what a watch is told that begins before it.
type change struct {
	version int
	line    string
}

func serve(t *testing.T) *server {
	s := &server{t: t, slices: map[string]discovery.EndpointSlice{}, version: 10}
	s.opened = sync.NewCond(&s.mu)
	s.http = httptest.NewServer(s)
	t.Cleanup(s.http.Close)
	t.Cleanup(s.hangUp)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if want := "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"; r.URL.Path != want || q.Get("labelSelector") != "kubernetes.io/service-name=tier" {
		s.t.Errorf("asked for %s", r.URL)
	}
	s.mu.Lock()
	status := 0
	if s.refuse != nil {
		status = s.refuse()
	}
	if q.Get("sendInitialEvents") == "true" && !s.streams && status == 0 {
		status = http.StatusUnprocessableEntity
	}
	if status != 0 {
		for name, value := range s.header {
			w.Header().Set(name, value)
		}
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`,
			map[int]string{422: "Invalid", 410: "Expired", 429: "TooManyRequests", 403: "Forbidden"}[status], status)
		return
	}
	if q.Get("watch") == "" {
		s.lists++
		list := discovery.EndpointSliceList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(s.version)}}
		list.Kind, list.APIVersion = "EndpointSliceList", "discovery.k8s.io/v1"
		for _, slice := range s.slices {
			list.Items = append(list.Items, slice)
		}
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(list)
		return
	}
	events := make(chan string, 100)
	if q.Get("sendInitialEvents") == "true" {
		for _, slice := range s.slices {
			events <- event("ADDED", slice)
		}
		events <- s.bookmark(true)
	} else {
		since, _ := strconv.Atoi(q.Get("resourceVersion"))
		for _, c := range s.history {
			if c.version > since {
				events <- c.line
			}
		}
	}
	s.watches = append(s.watches, events)
	s.opened.Broadcast()
	mute := s.mute
	s.mu.Unlock()
	if mute {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for {
		select {
		case line, open := <-events:
			if !open {
				return
			}
			fmt.Fprint(w, line)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func event(kind string, object any) string {
	data, _ := json.Marshal(map[string]any{"type": kind, "object": object})
	return string(data) + "\n"
}

func (s *server) bookmark(initial bool) string {
	b := discovery.EndpointSlice{ObjectMeta: metav1.ObjectMeta{ResourceVersion: fmt.Sprint(s.version)}}
	b.Kind, b.APIVersion = "EndpointSlice", "discovery.k8s.io/v1"
	if initial {
		b.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return event("BOOKMARK", b)
}

// set changes a slice, and lets the watches hear of it.
func (s *server) set(name string, pods ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "MODIFIED"
	if _, there := s.slices[name]; !there {
		kind = "ADDED"
	}
	s.version++
	s.slices[name] = slice(name, s.version, pods...)
	s.happenedLocked(event(kind, s.slices[name]))
}

func (s *server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	gone := s.slices[name]
	gone.ResourceVersion = fmt.Sprint(s.version)
	delete(s.slices, name)
	s.happenedLocked(event("DELETED", gone))
}

func (s *server) happenedLocked(line string) {
	s.history = append(s.history, change{s.version, line})
	s.sayLocked(line)
}

func (s *server) sayLocked(line string) {
	for _, w := range s.watches {
		w <- line
	}
}

func (s *server) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sayLocked(line)
}

// awaitWatch waits for a watch to be open.
func (s *server) awaitWatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.watches) == 0 {
		s.opened.Wait()
	}
}

// hangUp ends all watches.
func (s *server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		close(w)
	}
	s.watches = nil
}

func (s *server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// slice has ready pods, each at an address of its own.
func slice(name string, version int, pods ...string) discovery.EndpointSlice {
	ready, port, peers := true, int32(7400), "peers"
	s := discovery.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Namespace: "shop", ResourceVersion: fmt.Sprint(version)},
		AddressType: discovery.AddressTypeIPv4,
		Ports:       []discovery.EndpointPort{{Name: &peers, Port: &port}},
	}
	s.Kind, s.APIVersion = "EndpointSlice", "discovery.k8s.io/v1"
	for _, pod := range pods {
		e := discovery.Endpoint{Addresses: []string{"10.0.0." + strings.TrimPrefix(pod, "pod-")}, Conditions: discovery.EndpointConditions{Ready: &ready}}
		e.TargetRef = podRef(pod)
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

// follower runs a directory against a server.
type follower struct {
	t     *testing.T
	tells chan told
}

type told struct {
	names   string
	problem string
}

func follow(t *testing.T, s *server, silence time.Duration) *follower {
	t.Helper()
	d, err := New(slog.New(slog.DiscardHandler), Options{Namespace: "shop", Service: "tier", Port: "peers", Server: s.http.URL, Silence: silence})
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{t, make(chan told, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- d.Run(ctx, f.tell) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return f
}

func (f *follower) tell(peers []membership.Peer, err error) {
	var l told
	for _, p := range peers {
		l.names += " " + p.Name
	}
	l.names = strings.TrimSpace(l.names)
	if err != nil {
		l.problem = err.Error()
	}
	select {
	case <-f.tells:
	default:
	}
	f.tells <- l
}

// await takes what is told until the members and the problem are as wanted.
func (f *follower) await(names, problem string) {
	f.t.Helper()
	last, late := told{}, time.NewTimer(2*time.Minute)
	defer late.Stop()
	for {
		select {
		case last = <-f.tells:
			if last.names == names && (last.problem == "") == (problem == "") && strings.Contains(last.problem, problem) {
				return
			}
		case <-late.C:
			f.t.Fatalf("want %q and %q, last told %+v", names, problem, last)
		}
	}
}
