package membership

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/hashring"
)

// tier is nodes that can be asked, each as a test says.
type tier struct {
	mu    sync.Mutex
	nodes map[string]func(context.Context) ([]byte, error)
	asks  map[string]int
	lists script // of addresses, where there is no other directory of them
}

func newTier() *tier {
	return &tier{nodes: map[string]func(context.Context) ([]byte, error){}, asks: map[string]int{}, lists: make(script)}
}

func (f *tier) set(address string, node func(context.Context) ([]byte, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[address] = node
}

func (f *tier) Ask(ctx context.Context, address string) ([]byte, error) {
	f.mu.Lock()
	node := f.nodes[address]
	f.asks[address]++
	f.mu.Unlock()
	if node == nil {
		return nil, errors.New("connection refused")
	}
	return node(ctx)
}

// asked is how often an address was asked.
func (f *tier) asked(address string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asks[address]
}

// node is one of that name, at the address of that name.
func node(name string, instance uint64, change ...func(*Peer)) func(context.Context) ([]byte, error) {
	p := peerAt(name, 1)
	p.Address, p.Instance = ":1", instance
	for _, c := range change {
		c(&p)
	}
	return func(context.Context) ([]byte, error) { return Encode(p) }
}

// silent answers nothing.
func silent(ctx context.Context) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// slow answers after a time.
func slow(d time.Duration, node func(context.Context) ([]byte, error)) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		select {
		case <-time.After(d):
			return node(ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lying says what is no record.
func lying(context.Context) ([]byte, error) { return []byte(`{"w":1000}`), nil }

// asking runs the membership of node a, which asks b and c.
func asking(t *testing.T, addresses Directory, story func(*Membership, *tier)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := newTier()
		f.set("b:1", node("b", 2))
		f.set("c:1", node("c", 3))
		if addresses == nil {
			addresses = f.lists
		}
		self := peerAt("a", 1)
		self.Address, self.Instance = "a:1", 1
		o := Options{Rings: hashring.Options{Window: 30 * time.Second}}
		m, err := New(self, Asked{Addresses: addresses, Asker: f, Self: func() Peer { return self }}, slog.New(slog.DiscardHandler), o)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- m.Run(ctx) }()
		story(m, f)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func at(addresses ...string) Static {
	var peers Static
	for _, a := range addresses {
		peers = append(peers, peerAt(a, 1))
	}
	return peers
}

func TestAddressesAreAsked(t *testing.T) {
	asking(t, at("a:1", "b:1", "c:1"), func(m *Membership, f *tier) {
		synctest.Wait()
		expect(t, m, "a b c", "")
		f.set("c:1", node("c", 3, func(p *Peer) { p.State, p.Occupancy, p.Clients = hashring.Leaving, 0.5, ":6400" }))
		pass(4 * time.Second)
		expect(t, m, "a b", "")
		if p, _ := m.View().Peer("c"); p.State != hashring.Leaving || p.Address != "c:1" || p.Clients != "c:6400" || p.Occupancy != 0.5 {
			t.Errorf("c is %+v", p)
		}
		if f.asked("a:1") != 0 {
			t.Error("the node asked itself")
		}
	})
}

// Whoever does not answer is away, then gone, and comes back.
func TestWhoDoesNotAnswerIsAway(t *testing.T) {
	for name, dead := range map[string]func(context.Context) ([]byte, error){
		"dead": nil, "silent": silent, "slow": slow(1001*time.Millisecond, node("c", 3)), "lying": lying,
	} {
		asking(t, at("a:1", "b:1", "c:1"), func(m *Membership, f *tier) {
			synctest.Wait()
			f.set("c:1", dead)
			pass(5 * time.Second)
			expect(t, m, "a b (c)", "the node at c:1: ")
			pass(12 * time.Second)
			expect(t, m, "a b", "the node at c:1: ")
			f.set("c:1", node("c", 4, func(p *Peer) { p.Joined = time.Now() }))
			pass(5 * time.Second)
			expect(t, m, "a b c", "")
			if m.View().Rings.Settled().IsZero() {
				t.Errorf("%s: it was gone, and does not fade in", name)
			}
		})
	}
}

// A node that does not answer from the start keeps nobody else waiting for
// longer than a question takes.
func TestFirstListWaitsForAllAnswers(t *testing.T) {
	asking(t, nil, func(m *Membership, f *tier) {
		f.set("b:1", slow(900*time.Millisecond, node("b", 2)))
		f.set("c:1", silent)
		f.lists.tell(at("a:1", "b:1", "c:1"), nil)
		pass(999 * time.Millisecond)
		expect(t, m, "a", "no list of members yet")
		pass(time.Millisecond)
		expect(t, m, "a b", "the node at c:1: ")
	})
}

// A node that answers now and then keeps its keys all the time.
func TestFlappingNodeKeepsItsKeys(t *testing.T) {
	asking(t, at("a:1", "b:1", "c:1"), func(m *Membership, f *tier) {
		synctest.Wait()
		sum := m.View().Rings.Checksum()
		for range 20 {
			f.set("c:1", nil)
			pass(3 * time.Second)
			f.set("c:1", node("c", 3))
			pass(2 * time.Second)
			if m.View().Rings.Checksum() != sum {
				t.Fatal("keys moved")
			}
		}
		pass(3 * time.Second)
		expect(t, m, "a b c", "")
	})
}

// Two nodes of one name: the last good list stands, and both are named.
func TestTwoNodesAskedHaveOneName(t *testing.T) {
	asking(t, at("a:1", "b:1", "c:1"), func(m *Membership, f *tier) {
		synctest.Wait()
		sum := m.View().Rings.Checksum()
		f.set("c:1", node("b", 9))
		pass(5 * time.Second)
		expect(t, m, "a b c", `two nodes are named "b", at b:1 and at c:1`)
		if m.View().Rings.Checksum() != sum {
			t.Error("the list does not stand")
		}
		f.set("c:1", node("a", 9))
		pass(5 * time.Second)
		expect(t, m, "a b c", `two nodes are named "a", at a:1 and at c:1`)
		f.set("c:1", node("c", 3))
		pass(5 * time.Second)
		expect(t, m, "a b c", "")
	})
}

// One node at two addresses is one: this node too, at one that it does not
// know.
func TestOneNodeAtTwoAddresses(t *testing.T) {
	asking(t, nil, func(m *Membership, f *tier) {
		f.set("elsewhere:1", node("a", 1))
		f.set("also-b:1", node("b", 2))
		f.lists.tell(at("elsewhere:1", "a:1", "b:1", "also-b:1"), nil)
		expect(t, m, "a b", "")
	})
}

// What the other directory knows beside addresses counts: who leaves, and where
// they stand. Addresses that are gone are asked no more.
func TestDirectoryOfAddressesChanges(t *testing.T) {
	asking(t, nil, func(m *Membership, f *tier) {
		lists := f.lists
		peers := at("a:1", "b:1", "c:1")
		peers[1].Zone = "eu-1"
		lists.tell(peers, nil)
		expect(t, m, "a b c", "")
		if p, _ := m.View().Peer("b"); p.Zone != "eu-1" {
			t.Errorf("b is %+v", p)
		}
		peers[2].State = hashring.Leaving
		lists.tell(peers, nil)
		pass(3 * time.Second)
		expect(t, m, "a b", "")
		lists.tell(nil, errors.New("server is down"))
		pass(3 * time.Second)
		expect(t, m, "a b", "server is down")
		lists.tell(peers[:2], nil)
		pass(3 * time.Second)
		expect(t, m, "a b", "")
		before := f.asked("c:1")
		pass(10 * time.Second)
		if f.asked("c:1") != before {
			t.Error("an address that is gone is asked")
		}
	})
}

func TestDirectoryOfAddressesThatEnds(t *testing.T) {
	broken := errors.New("cannot be")
	a := Asked{Addresses: failing{broken}, Asker: newTier(), Self: func() Peer { return Peer{} }}
	if err := a.Run(t.Context(), func([]Peer, error) {}); !errors.Is(err, broken) {
		t.Errorf("Run: %v", err)
	}
}

// A whole tier that starts has nobody who serves: the node is alone until
// somebody does.
func TestTierThatStarts(t *testing.T) {
	asking(t, nil, func(m *Membership, f *tier) {
		starting := func(p *Peer) { p.State = hashring.Starting }
		f.set("b:1", node("b", 2, starting))
		f.set("c:1", node("c", 3, starting))
		f.lists.tell(at("b:1", "c:1"), nil)
		pass(5 * time.Second)
		expect(t, m, "a", "no member serves yet")
		now := time.Now()
		serving := func(p *Peer) { p.Joined = now }
		f.set("b:1", node("b", 2, serving))
		f.set("c:1", node("c", 3, serving))
		pass(5 * time.Second)
		expect(t, m, "b c", "")
		if !m.View().Rings.Settled().IsZero() {
			t.Error("the first nodes of a tier fade in")
		}
	})
}

// A node that starts again learns from the others that it was never gone.
func TestKnownNodeLearnsIt(t *testing.T) {
	asking(t, nil, func(m *Membership, f *tier) {
		f.set("b:1", node("b", 2, func(p *Peer) { p.Known = true }))
		f.lists.tell(at("a:1", "b:1", "c:1"), nil)
		<-m.Heard()
		synctest.Wait()
		v := m.View()
		if !v.Known() || !v.Owns("c") || v.Owns("d") {
			t.Errorf("%+v", v.Peers)
		}
	})
}
