package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/command"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

const settles = 5 * time.Second

// tierNode is a node as a client of Redis Cluster sees it.
type tierNode struct {
	*cluster
	commands *command.Commands
	seen     *membership.View
	way      map[string]reach // to others
	changed  uint64
}

func (n *tierNode) reach(member string) reach { return n.way[member] }
func (n *tierNode) changes() uint64           { return n.changed }

// finds has the node find that the way to a member is another.
func (n *tierNode) finds(member string, r reach) {
	if n.way[member].lost != r.lost {
		n.changed++
	}
	n.way[member] = r
}

// nobody is a Source in which there is nothing.
type nobody struct{ proxy.Source }

func (nobody) Load(context.Context, []proxy.Request, []proxy.Result) {}

func newTierNode(t *testing.T, name string, view *membership.View) *tierNode {
	t.Helper()
	catalog, err := proxy.NewCatalog(&row.Mapping{Spec: row.Spec{Name: "key", Table: "key", Column: "v"}, Columns: []row.KeyColumn{{Name: "k", Kind: row.KeyText}}})
	if err != nil {
		t.Fatal(err)
	}
	n := &tierNode{seen: view, way: map[string]reach{}}
	n.cluster = &cluster{self: name, here: func() string { return name + ":6400" }, view: func() *membership.View { return n.seen }, ways: n, settle: settles}
	n.commands = command.New(catalog, nobody{}, nil, command.Options{Cluster: n.cluster})
	return n
}

func (n *tierNode) do(line string) string {
	s := n.commands.NewSession()
	s.Redirect()
	s.Step(context.Background(), []byte(line+"\r\n"))
	return string(s.Replies())
}

// sends returns the node that a client is sent to for a key; "" if it is
// served.
func (n *tierNode) sends(key string) string {
	reply := n.do("GET " + key)
	if _, to, moved := strings.Cut(strings.TrimSuffix(reply, ":6400\r\n"), " "); moved {
		return strings.Fields(to)[1]
	}
	return ""
}

// peersOf are serving nodes that redirect, at hosts of their names.
func peersOf(names ...string) (peers []membership.Peer) {
	for _, name := range names {
		p := membership.Peer{Redirects: name + ":6400"}
		p.Name, p.Weight = name, 1
		peers = append(peers, p)
	}
	return peers
}

func ofPeers(peers []membership.Peer) (members []hashring.Member) {
	for _, p := range peers {
		members = append(members, p.Member)
	}
	return members
}

func viewOf(t *testing.T, window time.Duration, peers []membership.Peer) *membership.View {
	t.Helper()
	rings, err := hashring.New(hashring.Options{Window: window}, 1, ofPeers(peers), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &membership.View{Rings: rings, Peers: peers}
}

// then is the view after another list.
func then(t *testing.T, before *membership.View, peers []membership.Peer, joined time.Time) *membership.View {
	t.Helper()
	rings, err := before.Rings.Next(before.Rings.Version()+1, ofPeers(peers), joined)
	if err != nil {
		t.Fatal(err)
	}
	return &membership.View{Rings: rings, Peers: peers}
}

func someKeys(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("key:%d", i))
	}
	return keys
}

// ownedBy returns a key that a node owns now.
func ownedBy(view *membership.View, name string) string {
	keys := someKeys(100)
	return keys[slices.IndexFunc(keys, func(key string) bool { return view.Rings.Owner([]byte(key), time.Now()) == name })]
}

func TestClientsAreSentToOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := peersOf("a", "b", "c", "d")
		peers[3].Redirects = "" // has no listener that redirects
		view := viewOf(t, 0, peers)
		n := newTierNode(t, "a", view)
		counts := func() map[string]int {
			count := map[string]int{}
			for _, key := range someKeys(300) {
				to := n.sends(key)
				if owner := view.Rings.Owner([]byte(key), time.Now()); to != "" && to != owner {
					t.Errorf("%s of %s is sent to %s", key, owner, to)
				}
				count[to]++
			}
			return count
		}
		if c := counts(); c[""] != 300 {
			t.Errorf("before anybody can know the owners, %v are sent away", c)
		}
		time.Sleep(settles + topologyAge)
		if c := counts(); c["b"] == 0 || c["c"] == 0 || c["b"]+c["c"]+c[""] != 300 || c[""] < 120 {
			t.Errorf("sent to %v", c)
		}
		if nodes := n.do("CLUSTER NODES"); strings.Count(nodes, " connected") != 3 || strings.Contains(nodes, "d:") {
			t.Errorf("nodes: %.300s", nodes)
		}
		// b is away: its keys are served here at once, and later it has to be
		// there for a while.
		gone := peersOf("a", "b", "c", "d")
		gone[1].State, gone[3].Redirects = hashring.Away, ""
		n.seen = then(t, view, gone, time.Now())
		time.Sleep(topologyAge)
		if c := counts(); c["b"] != 0 || c["c"] == 0 {
			t.Errorf("while b is away: %v", c)
		}
		if nodes := n.do("CLUSTER NODES"); !strings.Contains(nodes, "b:6400@0 master,fail - 0 0 2 connected\n") {
			t.Errorf("nodes while b is away: %.300s", nodes)
		}
		n.seen = then(t, n.seen, peers, time.Now())
		time.Sleep(topologyAge)
		if c := counts(); c["b"] != 0 {
			t.Errorf("as b is back: %v", c)
		}
		time.Sleep(settles + topologyAge)
		if c := counts(); c["b"] == 0 {
			t.Errorf("b is back for long: %v", c)
		}
	})
}

// What costs something is done once a second at most, and not at all where
// nothing changes.
func TestTopologyIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := viewOf(t, 0, peersOf("a", "b"))
		n := newTierNode(t, "a", view)
		first := n.Topology()
		if n.Topology() != first {
			t.Error("it is made anew within a second")
		}
		time.Sleep(topologyAge)
		if n.Topology() == first {
			t.Error("b stays new")
		}
		time.Sleep(settles)
		settled := n.Topology()
		busy := *view // as a busier peer makes it
		busy.Peers = peersOf("a", "b")
		busy.Peers[1].Occupancy = 0.5
		n.seen = &busy
		time.Sleep(topologyAge)
		if n.Topology() != settled {
			t.Error("it is made anew for nothing")
		}
	})
}

// Before there is a list of members, and where this node is on none, clients are
// told of an address all the same; of a member without one they are told nothing.
func TestClientsAreToldWhereThisNodeIs(t *testing.T) {
	alone := peersOf("a")
	alone[0].Redirects = "" // as it is before the first list
	others := peersOf("b", "c", "d")
	others[1].Redirects, others[2].Redirects = "c", "d:x"
	for name, peers := range map[string][]membership.Peer{"before the first list": alone, "on no list": others} {
		n := newTierNode(t, "a", viewOf(t, 0, peers))
		nodes := n.do("CLUSTER NODES")
		if !strings.Contains(nodes, " a:6400@0 myself,master ") || strings.Contains(nodes, ":0@") || strings.Contains(nodes, " :") {
			t.Errorf("%s: %s", name, nodes)
		}
		if slots := n.do("CLUSTER SLOTS"); name != "on no list" && !strings.Contains(slots, "$1\r\na\r\n:6400\r\n") {
			t.Errorf("%s: %q", name, slots)
		}
	}
}

// Nodes learn of a change at different times and their topologies are of
// different ages. A client that follows what it is told is answered by the
// third node at the latest, whichever it asks first, at any moment.
func TestNobodyIsSentToAndFro(t *testing.T) {
	keys := someKeys(20)
	for round := range uint64(2) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(round, 0))
			names := []string{"a", "b", "c"}
			now := viewOf(t, 10*time.Second, peersOf("a", "b", "c"))
			nodes := map[string]*tierNode{}
			for _, name := range append(names, "d") {
				nodes[name] = newTierNode(t, name, now)
			}
			follow := func() {
				for _, key := range keys {
					for name := range nodes {
						at, hops := name, 0
						for to := nodes[at].sends(key); to != ""; to = nodes[at].sends(key) {
							if at, hops = to, hops+1; hops > 2 {
								t.Fatalf("%v: %s is sent on %d times from %s", time.Now(), key, hops, name)
							}
						}
					}
				}
			}
			pass := func(d time.Duration) {
				for until := time.Now().Add(d); time.Now().Before(until); time.Sleep(time.Duration(random.Int64N(int64(900 * time.Millisecond)))) {
					follow()
				}
			}
			pass(8 * time.Second)
			for _, list := range [][]string{{"a", "b", "c", "d"}, {"a", "c", "d"}, {"a", "b", "c", "d"}} {
				next := then(t, now, peersOf(list...), time.Now())
				late := map[string]time.Time{} // who sees it when
				for name := range nodes {
					late[name] = time.Now().Add(time.Duration(random.Int64N(int64(settles - 2*topologyAge))))
				}
				for range 12 {
					for name, at := range late {
						if !time.Now().Before(at) {
							nodes[name].seen = next
						}
					}
					pass(time.Second)
				}
				now = next
			}
		})
	}
}

// Clients are not sent to a node that is lost, nor told of it, from the moment on,
// and those that were there before hear of it once. It has its slots again once it
// has been back for long enough.
func TestClientsAreNotSentToTheLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := viewOf(t, 0, peersOf("a", "b", "c"))
		n := newTierNode(t, "a", view)
		own, bs := ownedBy(view, "a"), ownedBy(view, "b")
		sent := func(want, when string) {
			t.Helper()
			if got := n.sends(bs); got != want {
				t.Errorf("%s, %s is sent to %q", when, bs, got)
			}
			if got := n.do("CLUSTER SLOTS"); want == "" && strings.Contains(got, "\r\nb\r\n") {
				t.Errorf("%s, clients are told of b", when)
			}
		}
		n.do("PING")
		time.Sleep(settles + topologyAge)
		sent("b", "at rest")
		before := n.commands.NewSession()
		before.Redirect()
		ask := func() string {
			before.Step(t.Context(), []byte("GET "+own+"\r\n"))
			return string(before.Replies())
		}
		if got := ask(); got != "$-1\r\n" {
			t.Errorf("%s: %q", own, got)
		}
		n.finds("b", reach{lost: true})
		sent("", "lost")
		if got := ask(); !strings.HasPrefix(got, "-MOVED ") || !strings.HasSuffix(got, " a:6400\r\n") {
			t.Errorf("a client that was there before is answered %q", got)
		}
		if got := ask(); got != "$-1\r\n" {
			t.Errorf("it asks again: %q", got)
		}
		time.Sleep(time.Hour)
		sent("", "lost for long")
		for range 10 { // it comes and goes
			n.finds("b", reach{})
			time.Sleep(settles - topologyAge)
			if got := n.sends(bs); got != "" {
				t.Errorf("while it comes and goes, %s is sent to %q", bs, got)
			}
			n.finds("b", reach{lost: true})
			sent("", "gone again")
		}
		n.finds("b", reach{})
		n.do("PING")
		time.Sleep(settles + topologyAge)
		sent("b", "back")
		ask() // of the last loss
		if got := ask(); got != "$-1\r\n" {
			t.Errorf("it is told of what is over: %q", got)
		}
	})
}

// Clients hear once that a node leaves, of the others and of that node itself,
// and not again when it is gone.
func TestClientsHearWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		view := viewOf(t, 0, peersOf("a", "b", "c"))
		ask := map[string]func() string{}
		nodes := map[string]*tierNode{}
		for _, name := range []string{"a", "b"} {
			n := newTierNode(t, name, view)
			s := n.commands.NewSession()
			s.Redirect()
			key := ownedBy(view, name)
			nodes[name], ask[name] = n, func() string {
				s.Step(t.Context(), []byte("GET "+key+"\r\n"))
				return string(s.Replies())
			}
		}
		answered := func(name, want, when string) {
			t.Helper()
			if got := ask[name](); !strings.HasSuffix(got, want) {
				t.Errorf("%s, %s answers %q, not %q", when, name, got, want)
			}
		}
		for name := range nodes {
			answered(name, "$-1\r\n", "at rest")
		}
		leaving := peersOf("a", "b", "c")
		leaving[1].State = hashring.Leaving
		left := then(t, view, leaving, time.Now())
		nodes["a"].seen, nodes["b"].seen = left, left
		time.Sleep(topologyAge)
		for name := range nodes {
			answered(name, " "+name+":6400\r\n", "as b leaves")
			answered(name, "$-1\r\n", "as the client asks again")
		}
		time.Sleep(settles)
		answered("b", left.Rings.Owner([]byte(ownedBy(view, "b")), time.Now())+":6400\r\n", "as others have its keys")
		nodes["a"].seen = then(t, left, peersOf("a", "c"), time.Now())
		time.Sleep(topologyAge)
		answered("a", "$-1\r\n", "as b is gone")
	})
}

// A node that is doubted is told of, and nobody is sent there for as long.
func TestClientsAreNotSentToTheDoubted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newTierNode(t, "a", viewOf(t, 0, peersOf("a", "b")))
		n.do("PING")
		time.Sleep(settles + topologyAge)
		sent := func() (count int) {
			for _, key := range someKeys(50) {
				if n.sends(key) == "b" {
					count++
				}
			}
			return count
		}
		if sent() == 0 {
			t.Error("nobody is sent to b")
		}
		n.finds("b", reach{doubted: true})
		time.Sleep(topologyAge)
		if sent() != 0 || !strings.Contains(n.do("CLUSTER SLOTS"), "\r\nb\r\n") {
			t.Errorf("%d are sent to b, which clients are to know of: %q", sent(), n.do("CLUSTER SLOTS"))
		}
		n.finds("b", reach{})
		time.Sleep(topologyAge)
		if sent() == 0 {
			t.Error("nobody is sent to b any more")
		}
	})
}

// Two nodes that are configured to have different tables send nobody to and fro,
// as each knows what the other has told.
func TestNodesWithDifferentTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := peersOf("a", "b", "c")
		a := newTierNode(t, "a", viewOf(t, 0, peers))
		peers[0].Weight = 5
		b := newTierNode(t, "b", viewOf(t, 0, peers))
		a.do("PING")
		b.do("PING")
		time.Sleep(settles + topologyAge)
		fro := func() (count int) {
			for _, key := range someKeys(300) {
				if b.sends(key) == "a" && a.sends(key) == "b" || a.sends(key) == "b" && b.sends(key) == "a" {
					count++
				}
			}
			return count
		}
		moved := func() (count int) {
			for _, key := range someKeys(300) {
				if a.sends(key) == "b" && b.seen.Rings.Owner([]byte(key), time.Now()) == "a" {
					count++
				}
			}
			return count
		}
		if moved() == 0 {
			t.Fatal("the two tables are alike")
		}
		a.finds("b", reach{doubted: true}) // one of them is enough
		time.Sleep(topologyAge)
		if moved() != 0 || fro() != 0 {
			t.Errorf("a sends %d keys to b, which has them of a's; %d go to and fro", moved(), fro())
		}
	})
}
