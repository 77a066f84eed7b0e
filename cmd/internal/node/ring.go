package node

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
)

// Ring is a tier as one of its nodes sees it, for people and their tools.
type Ring struct {
	Self      string       `json:"self"`
	State     string       `json:"state"`
	Version   uint64       `json:"version"`
	Checksum  string       `json:"checksum"`
	Placement string       `json:"placement"`
	Rings     int          `json:"rings"` // in force: more than one while members fade in
	Problems  []string     `json:"problems"`
	Members   []RingMember `json:"members"`
	Key       *RingKey     `json:"key,omitempty"`
}

// RingMember is one node of a tier.
type RingMember struct {
	Name      string  `json:"name"`
	State     string  `json:"state"`
	Degraded  bool    `json:"degraded,omitempty"` // its /readyz says why
	Address   string  `json:"address"`
	Clients   string  `json:"clients"`
	Redirects string  `json:"redirects,omitempty"`
	Zone      string  `json:"zone,omitempty"`
	Version   string  `json:"version"`
	Weight    int     `json:"weight"`
	Slots     int     `json:"slots"`
	Share     float64 `json:"share"` // of all keys, in the end
	Joined    string  `json:"joined,omitempty"`
	Moved     float64 `json:"moved"` // share of its keys that have moved to it: 1 once it has faded in
	Occupancy float64 `json:"occupancy"`
	Pass      float64 `json:"pass"`
}

// RingKey says who owns a key, and why.
type RingKey struct {
	Key   string `json:"key"`
	Slot  int    `json:"slot"`
	Owner string `json:"owner"`
	Final string `json:"final"` // when all have faded in
	Next  string `json:"next"`  // without the owner
	Why   string `json:"why"`
}

// Ring returns the tier as this node sees it at a time, with the place of a
// key if there is one; nil: this node is alone.
func (n *Node) Ring(key []byte, now time.Time) *Ring {
	t := n.tier
	if t == nil {
		return nil
	}
	view := t.membership.View()
	r := &Ring{
		Self: t.name, State: t.said().State.String(), Placement: t.config.Tier.Placement,
		Version: view.Rings.Version(), Checksum: sumText(view.Rings.Checksum()), Rings: view.Rings.Count(),
		Problems: append([]string{}, t.problems()...),
	}
	shares := sharesOf(view.Rings, now)
	for _, p := range view.Peers {
		r.Members = append(r.Members, memberOf(view.Rings, p, shares[p.Name], now))
	}
	if len(key) > 0 {
		e := t.explain(key, now)
		r.Key = &RingKey{Key: string(key), Slot: e.Slot, Owner: e.Owner, Final: e.Final, Next: e.Next, Why: e.Why}
	}
	return r
}

func memberOf(rings *hashring.Rings, p membership.Peer, share float64, now time.Time) RingMember {
	m := RingMember{
		Name: p.Name, State: p.State.String(), Degraded: p.Degraded, Address: p.Address, Clients: p.Clients, Redirects: p.Redirects,
		Zone: p.Zone, Version: p.Version, Weight: p.Weight, Slots: rings.Owned(p.Name), Share: share,
		Moved: rings.Moved(p.Name, now), Occupancy: p.Occupancy, Pass: p.Pass,
	}
	if !p.Joined.IsZero() {
		m.Joined = p.Joined.UTC().Format(time.RFC3339)
	}
	return m
}

// sharesOf returns which part of the keys each member has in the end.
func sharesOf(rings *hashring.Rings, now time.Time) map[string]float64 {
	shares := map[string]float64{}
	for _, m := range rings.Members() {
		shares[m.Name] = float64(rings.Owned(m.Name)) / hashring.Slots
	}
	if rings.OwnerOfSlot(0, now) != "" {
		return shares
	}
	for _, key := range sampleKeys() { // keys have owners, and slots have not
		shares[rings.Explain(key, now).Final] += 1 / float64(samples)
	}
	return shares
}

// answerRing shows the tier: to a browser as a picture, to others as JSON.
func (n *Node) answerRing(w http.ResponseWriter, r *http.Request) {
	ring := n.Ring([]byte(r.URL.Query().Get("key")), time.Now())
	if ring == nil {
		http.Error(w, "this node is of no tier: it owns all keys", http.StatusNotFound)
		return
	}
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = page.Execute(w, n.picture(ring)) // who asked has gone
		return
	}
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(ring) // who asked has gone
}
