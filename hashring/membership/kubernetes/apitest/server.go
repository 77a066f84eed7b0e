package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Server lists slices, and has them watched. All methods may be called
// concurrently.
type Server struct {
	*httptest.Server
	t    testing.TB
	path string // of the slices
	of   string // the label that selects the Service's

	mu      sync.Mutex
	opened  *sync.Cond // a watch
	faults  Faults
	slices  map[string]discovery.EndpointSlice
	version int
	watches []chan string // of those that are open
	history []change
	lists   int
}

// Faults are what the server does otherwise than the last time.
type Faults struct {
	Streams bool              // initial lists come by watches, as from newer servers
	Refuse  func() int        // a status instead of an answer; 0: none. Called one at a time
	Header  map[string]string // of a refusal
	Mute    bool              // watches are heard of, and never answered
}

// change is what a watch is told that begins before it.
type change struct {
	version int
	line    string
}

// New starts a server, which ends with the test.
func New(t testing.TB, namespace, service string) *Server {
	s := &Server{
		t: t, slices: map[string]discovery.EndpointSlice{}, version: 10,
		path: "/apis/discovery.k8s.io/v1/namespaces/" + namespace + "/endpointslices",
		of:   discovery.LabelServiceName + "=" + service,
	}
	s.opened = sync.NewCond(&s.mu)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	t.Cleanup(s.HangUp)
	return s
}

// ServeHTTP answers a list or a watch.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.URL.Path != s.path || q.Get("labelSelector") != s.of {
		s.t.Errorf("asked for %s", r.URL)
	}
	first := q.Get("sendInitialEvents") == "true"
	switch {
	case s.refused(w, first):
	case q.Get("watch") == "":
		s.list(w)
	default:
		since, _ := strconv.Atoi(q.Get("resourceVersion"))
		s.watch(w, r, first, since)
	}
}

// refused answers with a status where that is wanted.
func (s *Server) refused(w http.ResponseWriter, first bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := 0
	if s.faults.Refuse != nil {
		status = s.faults.Refuse()
	}
	if first && !s.faults.Streams && status == 0 {
		status = http.StatusUnprocessableEntity
	}
	if status == 0 {
		return false
	}
	for name, value := range s.faults.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`,
		map[int]string{422: "Invalid", 410: "Expired", 429: "TooManyRequests", 403: "Forbidden"}[status], status)
	return true
}

func (s *Server) list(w http.ResponseWriter) {
	s.mu.Lock()
	s.lists++
	list := discovery.EndpointSliceList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(s.version)}}
	list.Kind, list.APIVersion = "EndpointSliceList", "discovery.k8s.io/v1"
	for _, slice := range s.slices {
		list.Items = append(list.Items, slice)
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list) // who asked has gone
}

// watch tells what has happened since a version, or what there is, and goes on.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, first bool, since int) {
	events, mute := s.open(first, since)
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

// open returns what a new watch is told.
func (s *Server) open(first bool, since int) (events chan string, mute bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events = make(chan string, 1000)
	if first {
		for _, slice := range s.slices {
			events <- Event("ADDED", slice)
		}
		events <- s.bookmarkLocked(true)
	} else {
		for _, c := range s.history {
			if c.version > since {
				events <- c.line
			}
		}
	}
	s.watches = append(s.watches, events)
	s.opened.Broadcast()
	return events, s.faults.Mute
}

// Event is a line of a watch.
func Event(kind string, object any) string {
	data, err := json.Marshal(map[string]any{"type": kind, "object": object})
	if err != nil {
		panic(err) // what the test says is nothing that JSON can say
	}
	return string(data) + "\n"
}

// Bookmark is the line that says how far a watch has come.
func (s *Server) Bookmark() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bookmarkLocked(false)
}

func (s *Server) bookmarkLocked(initial bool) string {
	b := discovery.EndpointSlice{ObjectMeta: metav1.ObjectMeta{ResourceVersion: fmt.Sprint(s.version)}}
	b.Kind, b.APIVersion = "EndpointSlice", "discovery.k8s.io/v1"
	if initial {
		b.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return Event("BOOKMARK", b)
}

// Set changes a slice, and lets the watches hear of it.
func (s *Server) Set(slice discovery.EndpointSlice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "MODIFIED"
	if _, there := s.slices[slice.Name]; !there {
		kind = "ADDED"
	}
	s.happenedLocked(Event(kind, s.putLocked(slice)))
}

// Put changes a slice, and no watch hears of it.
func (s *Server) Put(slice discovery.EndpointSlice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(slice)
}

func (s *Server) putLocked(slice discovery.EndpointSlice) discovery.EndpointSlice {
	s.version++
	slice.Kind, slice.APIVersion = "EndpointSlice", "discovery.k8s.io/v1"
	slice.ResourceVersion = fmt.Sprint(s.version)
	s.slices[slice.Name] = slice
	return slice
}

// Remove takes a slice away, and lets the watches hear of it.
func (s *Server) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	gone := s.slices[name]
	gone.ResourceVersion = fmt.Sprint(s.version)
	delete(s.slices, name)
	s.happenedLocked(Event("DELETED", gone))
}

func (s *Server) happenedLocked(line string) {
	s.history = append(s.history, change{s.version, line})
	s.sayLocked(line)
}

// Say says a line to all watches.
func (s *Server) Say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sayLocked(line)
}

func (s *Server) sayLocked(line string) {
	for _, w := range s.watches {
		w <- line
	}
}

// AwaitWatch waits for a watch to be open.
func (s *Server) AwaitWatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.watches) == 0 {
		s.opened.Wait()
	}
}

// HangUp ends all watches.
func (s *Server) HangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		close(w)
	}
	s.watches = nil
}

// Do has the server make these faults, and no others, from now on.
func (s *Server) Do(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Lists is how often it was asked for a list.
func (s *Server) Lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}
