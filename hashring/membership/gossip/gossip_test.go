package gossip

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var joined = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func peer(name string) membership.Peer {
	return membership.Peer{
		Member:  hashring.Member{Name: name, Weight: 2, Zone: "eu-1", Joined: joined},
		Address: "127.0.0.1:7400", Version: "1.2.3", Occupancy: 0.5,
	}
}

// node is one that gossips on a port of its own, in a hurry.
type node struct {
	*Directory
	t       *testing.T
	address string
	tells   chan told
	stop    context.CancelFunc
	done    chan error
}

type told struct {
	peers []membership.Peer
	err   error
}

func hasty(t *testing.T, name string, o Options) *Directory {
	t.Helper()
	o.Listen, o.Every = "127.0.0.1:0", 200*time.Millisecond
	d, err := New(peer(name), slog.New(slog.DiscardHandler), o)
	if err != nil {
		t.Fatal(err)
	}
	c := d.config
	c.ProbeInterval, c.ProbeTimeout, c.GossipInterval = 200*time.Millisecond, 100*time.Millisecond, 20*time.Millisecond
	c.SuspicionMult, c.TCPTimeout = 2, time.Second
	return d
}

func start(t *testing.T, name string, o Options) *node {
	t.Helper()
	d := hasty(t, name, o)
	ctx, cancel := context.WithCancel(t.Context())
	n := &node{Directory: d, t: t, tells: make(chan told, 1), stop: cancel, done: make(chan error, 1)}
	go func() { n.done <- d.Run(ctx, n.tell) }()
	t.Cleanup(n.end)
	n.await("itself", func(l told) bool { return len(l.peers) > 0 })
	for _, m := range d.known() {
		if m.Name == name {
			n.address = m.Address()
		}
	}
	return n
}

// tell keeps the newest list only: nobody waits for a test.
func (n *node) tell(peers []membership.Peer, err error) {
	select {
	case <-n.tells:
	default:
	}
	n.tells <- told{peers, err}
}

func (n *node) end() {
	n.stop()
	if err := <-n.done; err != nil {
		n.t.Errorf("Run: %v", err)
	}
	n.done <- nil
}

// await takes what is told until it is as wanted.
func (n *node) await(what string, is func(told) bool) told {
	n.t.Helper()
	last, late := told{}, time.NewTimer(time.Minute)
	defer late.Stop()
	for {
		select {
		case last = <-n.tells:
			if is(last) {
				return last
			}
		case <-late.C:
			n.t.Fatalf("%s: not told of %s; last %+v", n.config.Name, what, last)
		}
	}
}

func (n *node) awaitNames(names ...string) told {
	n.t.Helper()
	return n.await(strings.Join(names, " "), func(l told) bool {
		return slices.EqualFunc(l.peers, names, func(p membership.Peer, name string) bool { return p.Name == name })
	})
}

func (n *node) awaitProblem(says string) {
	n.t.Helper()
	n.await(says, func(l told) bool { return l.err != nil && strings.Contains(l.err.Error(), says) })
}

func TestNodesFindEachOther(t *testing.T) {
	key := []byte("0123456789abcdef")
	a := start(t, "a", Options{Key: key})
	b := start(t, "b", Options{Key: key, Seeds: []string{a.address}})
	c := start(t, "c", Options{Key: key, Seeds: []string{a.address}})
	for _, n := range []*node{a, b, c} {
		for _, p := range n.awaitNames("a", "b", "c").peers {
			if p != peer(p.Name) {
				t.Errorf("%s is told %+v", n.config.Name, p)
			}
		}
	}
	// What one says of itself comes to the others.
	now := peer("b")
	now.State, now.Occupancy, now.Pass = hashring.Leaving, 1.25, 0.5
	if err := b.Announce(now); err != nil {
		t.Fatal(err)
	}
	c.await("b's news", func(l told) bool { return len(l.peers) == 3 && l.peers[1] == now })
	// One that ends says so; one that is cut off is found out.
	b.end()
	a.awaitNames("a", "c")
	c.awaitNames("a", "c")
}

// A node that starts again learns that it was never gone; a new one does not.
func TestKnownNodeLearnsIt(t *testing.T) {
	a := start(t, "a", Options{Owners: func() []string { return []string{"a", "b"} }})
	for name, known := range map[string]bool{"b": true, "c": false} {
		n := start(t, name, Options{Seeds: []string{a.address}})
		n.await("a", func(l told) bool {
			return slices.ContainsFunc(l.peers, func(p membership.Peer) bool { return p.Name == "a" && p.Known == known })
		})
	}
}

func TestCrashIsFoundOut(t *testing.T) {
	a := start(t, "a", Options{})
	list, err := memberlist.Create(hasty(t, "b", Options{}).config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := list.Join([]string{a.address}); err != nil {
		t.Error(err)
	}
	a.awaitNames("a", "b")
	list.Shutdown() // without a word
	a.awaitNames("a")
}

func TestNodeThatLeavesSaysSo(t *testing.T) {
	a := start(t, "a", Options{})
	b := start(t, "b", Options{Seeds: []string{a.address}})
	a.awaitNames("a", "b")
	b.stop()
	a.await("b leaving", func(l told) bool { return len(l.peers) == 2 && l.peers[1].State == hashring.Leaving })
	a.awaitNames("a")
}

func TestAnotherKeyIsNoMember(t *testing.T) {
	a := start(t, "a", Options{Key: []byte("0123456789abcdef")})
	for name, o := range map[string]Options{
		"wrong": {Key: []byte("fedcba9876543210")},
		"none":  {},
	} {
		o.Seeds = []string{a.address}
		x := start(t, name, o)
		a.awaitProblem("the key does not open")
		x.awaitProblem("none of the seeds was reached")
		if n := len(a.known()) + len(x.known()); n != 2 {
			t.Errorf("%s key: %d members in two tiers", name, n)
		}
		x.end()
	}
}

func TestAnotherTierIsNoMember(t *testing.T) {
	a := start(t, "a", Options{Tier: "blue"})
	b := start(t, "b", Options{Tier: "green", Seeds: []string{a.address}})
	b.awaitProblem("none of the seeds was reached")
	if n := len(a.known()) + len(b.known()); n != 2 {
		t.Errorf("%d members in two tiers", n)
	}
}

func TestTwoNodesOfOneName(t *testing.T) {
	a := start(t, "a", Options{})
	b := start(t, "b", Options{Seeds: []string{a.address}})
	b.awaitNames("a", "b")
	twin := start(t, "b", Options{Seeds: []string{a.address}})
	a.awaitProblem(`two nodes are named "b", at ` + b.address + " and at " + twin.address)
	if p := a.known(); len(p) != 2 || p[1].Address() != b.address {
		t.Errorf("known: %v", p)
	}
}

func TestSeedThatIsAway(t *testing.T) {
	d := start(t, "a", Options{Seeds: []string{"127.0.0.1:1"}})
	d.awaitProblem("none of the seeds was reached")
	d.awaitNames("a")
}

func TestNewRefuses(t *testing.T) {
	long := peer("a")
	long.Zone = strings.Repeat("z", 65)
	for name, c := range map[string]struct {
		self membership.Peer
		o    Options
		says string
	}{
		"address":   {peer("a"), Options{Listen: "here"}, "write HOST:PORT"},
		"port":      {peer("a"), Options{Listen: "127.0.0.1:70000"}, "write HOST:PORT"},
		"advertise": {peer("a"), Options{Listen: ":1", Advertise: "x"}, "write HOST:PORT"},
		"key":       {peer("a"), Options{Listen: ":1", Key: []byte("short")}, "16, 24 or 32 bytes, not 5"},
		"tier":      {peer("a"), Options{Listen: ":1", Tier: strings.Repeat("t", 65)}, "more than 64 bytes"},
		"zone":      {long, Options{Listen: ":1"}, "more than 64 bytes"},
		"name":      {peer(""), Options{Listen: ":1"}, "not empty"},
	} {
		if d, err := New(c.self, slog.New(slog.DiscardHandler), c.o); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
}
