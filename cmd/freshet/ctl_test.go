package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/node"
)

func TestCtlRing(t *testing.T) {
	ring := &node.Ring{
		Self: "a", State: "serving", Version: 7, Checksum: "00c0ffee", Placement: "rendezvous", Rings: 2,
		Problems: []string{"tier: the node at c:1 is away"},
		Members: []node.RingMember{
			{Name: "a", State: "serving", Weight: 1, Slots: 8000, Share: 0.488, Moved: 1, Address: "a:6490", Clients: "a:6400", Version: "1"},
			{Name: "b", State: "serving", Degraded: true, Weight: 1, Slots: 8384, Share: 0.512, Moved: 0.177, Occupancy: 0.5, Pass: 0.25, Address: "b:6490", Clients: "b:6400", Zone: "eu-1", Version: "1"},
		},
	}
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key := r.URL.Query().Get("key"); key != "" {
			ring.Key = &node.RingKey{Key: key, Slot: 9664, Owner: "a", Final: "b", Next: "b", Why: "it is yet to move"}
		}
		json.NewEncoder(w).Encode(ring)
	}))
	defer admin.Close()
	address := strings.TrimPrefix(admin.URL, "http://")
	code, stdout, stderr := called(t, "ctl", "ring", "--admin", address, "--explain", "users:42")
	for _, want := range []string{
		"a is serving: ring 7, checksum 00c0ffee, placement rendezvous, rings in force 2",
		"degraded: tier: the node at c:1 is away",
		"b       serving, degraded  1       8384   51.2 %  17.7 %   0.50       25 %    b:6490    b:6400      eu-1  1",
		"users:42           slot 9664",
		"why                it is yet to move",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%d, nothing of %q:\n%s%s", code, want, stdout, stderr)
		}
	}
	if code, stdout, _ := called(t, "ctl", "ring", "--admin", address, "--json"); code != 0 || !strings.Contains(stdout, `"checksum":"00c0ffee"`) {
		t.Errorf("--json: %d, %s", code, stdout)
	}
}

// A node that is alone, and one that is not there, say so.
func TestCtlRingOfNoTier(t *testing.T) {
	alone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "this node is of no tier: it owns all keys", http.StatusNotFound)
	}))
	address := strings.TrimPrefix(alone.URL, "http://")
	if code, _, stderr := called(t, "ctl", "ring", "--admin", address); code != 1 || !strings.Contains(stderr, "of no tier") {
		t.Errorf("%d, %s", code, stderr)
	}
	alone.Close()
	if code, _, stderr := called(t, "ctl", "ring", "--admin", address); code != 1 || !strings.Contains(stderr, "is the node running") {
		t.Errorf("%d, %s", code, stderr)
	}
	if code, _, _ := called(t, "ctl"); code != 2 {
		t.Errorf("ctl alone: %d", code)
	}
}
