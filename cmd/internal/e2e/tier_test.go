package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/proxy"
)

// several is a tier of nodes over one database, in one process. Each is reached by
// the others through a forwarder, whose address is known before the node's.
type several struct {
	*shop
	names []string
	ways  map[string]*stack.Forwarder
	nodes map[string]*member

	listens func(name string) string // where a node listens for others; nil: at any port, and its way goes there
}

// member is one node of a tier.
type member struct {
	*node.Node
	stop  func()
	fills *atomic.Int64 // keys that it has read from the source
}

// fast are a tier's times, for tests.
func fast(t *config.Tier) {
	t.Window, t.Grace = config.Duration(300*time.Millisecond), config.Duration(2*time.Second)
	t.Debounce, t.AskEvery = config.Duration(50*time.Millisecond), config.Duration(50*time.Millisecond)
}

// newSeveral prepares nodes of these names, and starts none of them.
func newSeveral(t *testing.T, names ...string) *several {
	t.Helper()
	s := prepared(newStack(t, everyMapping()...), names...)
	t.Cleanup(s.broker().Close)
	s.relay()
	return s
}

// prepared is a tier of which nothing is started.
func prepared(shop *shop, names ...string) *several {
	t := shop.t
	t.Helper()
	s := &several{shop: shop, names: names, ways: map[string]*stack.Forwarder{}, nodes: map[string]*member{}}
	s.config.Node.ProbeInterval = config.Duration(5 * time.Millisecond)
	fast(&s.config.Tier)
	for _, name := range names {
		way, err := stack.NewForwarder()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(way.Close)
		s.ways[name] = way
		s.config.Tier.Members = append(s.config.Tier.Members, way.Address())
	}
	return s
}

// counted counts the keys that are read through a source.
type counted struct {
	proxy.Source
	keys *atomic.Int64
}

func (c counted) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	c.keys.Add(int64(len(reqs)))
	c.Source.Load(ctx, reqs, results)
}

// run starts the node of a name.
func (s *several) run(name string, change ...func(*config.Config)) *member {
	s.t.Helper()
	own := *s.config
	own.Tier.Name, own.Tier.Listen = name, anyPort
	if s.listens != nil {
		own.Tier.Listen = s.listens(name)
	}
	for _, c := range change {
		c(&own)
	}
	m := &member{fills: new(atomic.Int64)}
	seams := node.Seams{Source: func(source proxy.Source) proxy.Source { return counted{source, m.fills} }}
	var err error
	if m.Node, err = seams.Open(s.t.Context(), &own, s.log().With("node", name)); err != nil {
		s.t.Fatal(err)
	}
	s.ways[name].To(m.Peers())
	s.ways[name].Pass() // it may have been lost before
	m.stop = s.spawn("node "+name, m.Run)
	s.nodes[name] = m
	return m
}

// all starts all nodes, and waits until each knows that all serve.
func (s *several) all() {
	s.t.Helper()
	for _, name := range s.names {
		s.run(name)
	}
	for _, name := range s.names {
		s.await(s.nodes[name].Node)
	}
	s.agree(s.names...)
}

// agree waits until these nodes know of each other, and of nobody else, that
// they serve, and all have faded in.
func (s *several) agree(names ...string) {
	s.t.Helper()
	slices.Sort(names)
	eventually(s.t, "the tier is "+strings.Join(names, " "), func() bool {
		for _, name := range names {
			ring := s.ring(name)
			var serving []string
			for _, m := range ring.Members {
				if m.State == "away" || m.State == "serving" && m.Moved < 1 {
					return false
				}
				if m.State == "serving" {
					serving = append(serving, m.Name)
				}
			}
			if !slices.Equal(serving, names) || ring.Rings != 1 {
				return false
			}
		}
		return true
	})
}

// ring is what a node says of the tier.
func (s *several) ring(name string) *node.Ring { return s.nodes[name].Ring(nil, time.Now()) }

// client connects to the node of a name.
func (s *several) at(name string) *client { return s.client(s.nodes[name].Address()) }

// owned returns keys of users that a node owns.
func (s *several) owned(name string, n int) (keys []string) {
	s.t.Helper()
	for id := 1; len(keys) < n && id < 1000; id++ {
		key := fmt.Sprintf("users:%d", id)
		if s.nodes[name].Ring([]byte(key), time.Now()).Key.Owner == name {
			keys = append(keys, key)
		}
	}
	return keys
}

func (s *several) fills() (sum int64) {
	for _, m := range s.nodes {
		sum += m.fills.Load()
	}
	return sum
}

// Any node answers for every key, and a key is read from the source once.
func TestTierAnswersAtEveryNode(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	s.all()
	before := s.fills()
	const keys = 60
	for id := 1; id <= keys; id++ {
		for _, name := range s.names {
			if got, want := s.at(name).do("HGET", fmt.Sprintf("users:%d", id), "id"), fmt.Sprint(id); got != want {
				t.Fatalf("users:%d at %s: %s", id, name, got)
			}
		}
	}
	if fills := s.fills() - before; fills != keys {
		t.Errorf("%d keys were read from the source %d times", keys, fills)
	}
	// Keys of all nodes in one command, in order.
	many := []string{"MGET"}
	for id := 1; id <= keys; id++ {
		many = append(many, fmt.Sprintf("key:%012d", id))
	}
	if got := strings.Split(s.at("b").do(many...), "\n"); len(got) != keys || slices.Contains(got, Nil) {
		t.Errorf("MGET: %q", got)
	}
	var owned float64
	for _, name := range s.names {
		owned += s.metric(s.nodes[name].Node, "freshet_ring_slots_owned")
	}
	if owned != 16384 {
		t.Errorf("the nodes own %v slots", owned)
	}
}

// A write is seen at once where it was made, and with its token anywhere.
func TestTierShowsWrites(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	s.all()
	a, b := s.at("a"), s.at("b")
	for _, owner := range s.names {
		for i, key := range s.owned(owner, 10) {
			a.do("GET", key)
			b.do("GET", key)
			credit := fmt.Sprint(1000 + i)
			a.do("HSET", key, "credit", credit)
			if got := a.do("HGET", key, "credit"); got != credit {
				t.Fatalf("%s of %s, where it was written: %s, not %s", key, owner, got, credit)
			}
			b.do("FRESHET.TOKEN", a.do("FRESHET.TOKEN"))
			if got := b.do("HGET", key, "credit"); got != credit {
				t.Fatalf("%s of %s, with the token: %s, not %s", key, owner, got, credit)
			}
		}
	}
}
