package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// owners says who owns which of many keys, by one node's ring.
func (s *several) owners(name string) map[string]string {
	owners := map[string]string{}
	for id := range 500 {
		key := fmt.Sprintf("users:%d", id)
		owners[key] = s.nodes[name].Ring([]byte(key), time.Now()).Key.Owner
	}
	return owners
}

// lose cuts a node off the others, as a crash does to them.
func (s *several) lose(name string) {
	s.ways[name].To("127.0.0.1:1")
	s.ways[name].Cut()
}

// While the owner of keys is lost, whoever is asked answers itself, in time.
// Then others own them.
func TestTierLosesANode(t *testing.T) {
	for name, lose := range map[string]func(*several){
		"refused": func(s *several) { s.lose("b") },
		"silent":  func(s *several) { s.ways["b"].Hold() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeveral(t, "a", "b", "c")
			for i := range s.config.UseCases {
				s.config.UseCases[i].Timeout = config.Duration(10 * time.Second)
			}
			s.all()
			lost := s.owned("b", 20)
			a := s.at("a")
			for _, key := range lost {
				a.do("GET", key)
			}
			lose(s)
			for _, key := range lost {
				began := time.Now()
				if got := a.do("HGET", key, "id"); key != "users:"+got {
					t.Errorf("%s: %s", key, got)
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("%s took %v", key, took)
				}
			}
			s.agree("a", "c")
			if _, body := s.ready(s.nodes["a"].Node); !strings.HasPrefix(body, "ready, degraded\n") || !strings.Contains(body, s.ways["b"].Address()) {
				t.Errorf("/readyz: %s", body)
			}
			for key, owner := range s.owners("a") {
				if owner == "b" {
					t.Errorf("%s still belongs to a node that is gone", key)
				}
			}
		})
	}
}

// A node that joins takes keys from the others, and nothing moves between
// those.
func TestTierFadesANodeIn(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	s.config.Tier.Window = config.Duration(5 * time.Second) // a busy machine may hear of c seconds late
	s.run("a")
	s.run("b")
	s.await(s.nodes["a"].Node)
	s.await(s.nodes["b"].Node)
	s.agree("a", "b")
	before := s.owners("a")
	time.Sleep(time.Duration(s.config.Tier.Window)) // in a tier's first window nobody fades in
	s.run("c")
	faded := false
	eventually(t, "c has faded in", func() bool {
		for _, m := range s.ring("a").Members {
			if m.Name == "c" {
				faded = faded || m.Moved > 0 && m.Moved < 1
				return m.Moved == 1
			}
		}
		return false
	})
	s.agree("a", "b", "c")
	if !faded {
		t.Error("c had its keys at once")
	}
	moved := 0
	for key, owner := range s.owners("a") {
		if owner != before[key] {
			moved++
			if owner != "c" {
				t.Errorf("%s moved from %s to %s", key, before[key], owner)
			}
		}
	}
	if moved < 100 || moved > 240 {
		t.Errorf("%d of 500 keys moved to the third node", moved)
	}
}

// A node that joins reads what is to be its own, of what clients of the others
// ask for most, before anybody asks it.
func TestTierWarmsANodeUp(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	s.run("a")
	s.run("b")
	s.await(s.nodes["a"].Node)
	s.await(s.nodes["b"].Node)
	s.agree("a", "b")
	const keys, often = 200, 40 // so many that none is hot, and kept by both
	for _, name := range []string{"a", "b"} {
		c := s.at(name)
		for range often {
			for id := 1; id <= keys; id++ {
				c.do("HGET", fmt.Sprintf("users:%d", id), "id")
			}
		}
	}
	s.run("c", func(own *config.Config) { own.Tier.WarmUp = 100_000 })
	s.agree("a", "b", "c")
	var own []string
	for _, key := range s.owned("c", keys) {
		if id, _ := strconv.Atoi(strings.TrimPrefix(key, "users:")); id <= keys {
			own = append(own, key)
		}
	}
	c := s.nodes["c"]
	eventually(t, "c has read what is its own", func() bool { return int(c.fills.Load()) >= len(own)/8 }) // of what they remember of some thousand reads
	if len(own) < 20 || int(c.fills.Load()) > len(own) {
		t.Errorf("c owns %d of %d keys, and read %d that nobody had asked it for", len(own), keys, c.fills.Load())
	}
}

// A node that leaves is missed by no client of the others.
func TestTierLetsANodeGo(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	s.all()
	stop := make(chan struct{})
	var load sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		for range 2 {
			c := s.at(name)
			load.Go(func() {
				for id := 1; ; id = id%200 + 1 {
					select {
					case <-stop:
						return
					default:
					}
					if got, err := c.Do("HGET", fmt.Sprintf("users:%d", id), "id"); err != nil || got != fmt.Sprint(id) {
						t.Errorf("users:%d at %s: %q, %v", id, name, got, err)
						return
					}
				}
			})
		}
	}
	s.nodes["c"].stop()
	s.agree("a", "b")
	close(stop)
	load.Wait()
	if m := s.metric(s.nodes["a"].Node, "freshet_ring_slots_owned"); m < 7000 || m > 9400 {
		t.Errorf("one of two nodes owns %v slots", m)
	}
}

// A node that crashes and comes back within its grace has its keys still, by
// all rings and by its own.
func TestTierKeepsTheKeysOfARestart(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	s.config.Tier.Grace = config.Duration(time.Hour)
	s.config.Tier.Window = config.Duration(5 * time.Second) // who fades in would be seen to
	s.run("a")
	s.run("b")
	s.await(s.nodes["a"].Node)
	s.await(s.nodes["b"].Node)
	state := func(at, of string) string {
		for _, m := range s.ring(at).Members {
			if m.Name == of {
				return m.State
			}
		}
		return ""
	}
	s.agree("a", "b")
	sum := s.ring("a").Checksum
	time.Sleep(time.Duration(s.config.Tier.Window)) // in a tier's first window nobody fades in
	s.lose("b")
	eventually(t, "b is away", func() bool { return state("a", "b") == "away" })
	s.nodes["b"].stop() // nobody hears that it leaves
	s.run("b")
	eventually(t, "b serves again", func() bool { return state("a", "b") == "serving" && state("b", "b") == "serving" })
	for _, name := range []string{"a", "b"} {
		if r := s.ring(name); r.Checksum != sum || r.Rings != 1 || r.Members[1].Moved != 1 {
			t.Errorf("%s sees ring %s of %d in force, with %.3f of b's keys, and it was %s", name, r.Checksum, r.Rings, r.Members[1].Moved, sum)
		}
	}
}

// A key that is dropped by hand is dropped at its owner, too, and the node says
// who that is.
func TestTierDropsAndExplains(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	s.config.Tier.Grace = config.Duration(time.Hour) // who is lost is missed until the end
	s.all()
	key := s.owned("b", 1)[0]
	a, b := s.at("a"), s.at("b")
	a.do("GET", key)
	eventually(t, "the owner keeps it", func() bool { return strings.Contains(b.do("FRESHET.EXPLAIN", key), "a read now\nhit") })
	if got := a.do("FRESHET.EXPLAIN", key); !strings.Contains(got, "owner\nb\nwhy\n") || strings.Contains(got, "a read now\nhit") {
		t.Errorf("a says:\n%s", got)
	}
	a.do("FRESHET.INVALIDATE", key)
	if got := b.do("FRESHET.EXPLAIN", key); strings.Contains(got, "a read now\nhit") {
		t.Errorf("b says:\n%s", got)
	}
	for _, drop := range [][]string{{"FRESHET.INVALIDATE", key}, {"FRESHET.INVALIDATE", "USECASE", "users"}} {
		b.do("GET", key)
		eventually(t, "the owner keeps it again", func() bool { return strings.Contains(b.do("FRESHET.EXPLAIN", key), "a read now\nhit") })
		if got := s.at("c").do(drop...); got != "OK" {
			t.Errorf("%q at c: %s", drop, got)
		}
		if got := b.do("FRESHET.EXPLAIN", key); strings.Contains(got, "a read now\nhit") {
			t.Errorf("after %q at c, b says:\n%s", drop, got)
		}
	}
	s.lose("c")
	eventually(t, "a says that c could not be told", func() bool {
		_, err := a.Do("FRESHET.INVALIDATE", "USECASE", "users")
		return err != nil && err.Error() == "UNAVAILABLE dropped, but perhaps not at c: say it again"
	})
	for accept, want := range map[string]string{"/ring?key=" + key: `"owner": "b"`, "/ring": `"rings": 1`} {
		if _, body := s.get(s.nodes["a"].Admin(), accept); !strings.Contains(body, want) {
			t.Errorf("%s: %s", accept, body)
		}
	}
}

// secret is one as a configuration would have it.
func secret(t *testing.T, value string) config.Secret {
	t.Helper()
	text := "source: {sqlite: {path: x}}\nuse_cases: [{name: u, table: t}]\ntier: {name: a, key: '${KEY}', members: ['h:1']}\n"
	c, err := config.Parse("f.yaml", []byte(text), func(string) (string, bool) { return value, true })
	if err != nil {
		t.Fatal(err)
	}
	return c.Tier.Key
}

// Nodes that cannot be one tier say why, and serve by themselves.
func TestTierOfNodesThatDoNotBelongTogether(t *testing.T) {
	key := func(value string) func(*config.Config) {
		k := secret(t, value)
		return func(c *config.Config) { c.Tier.Key = k }
	}
	same := key("0123456789abcdef")
	other := newStack(t, everyMapping()...)
	t.Cleanup(other.broker().Close)
	other.relay()
	for name, c := range map[string]struct {
		a, b func(*config.Config)
		says string
	}{
		"one name": {same, func(c *config.Config) { same(c); c.Tier.Name = "a" }, `node "a": has the name of this node`},
		"a key":    {same, key("fedcba9876543210"), "key"},
		"no key":   {same, func(*config.Config) {}, "key"},
		"a tier": {same, func(c *config.Config) {
			same(c)
			c.Stream.Format, c.Stream.Debezium.Topics = "debezium", []string{c.Stream.Kafka.Topic}
			c.Stream.Debezium.VisibilityLag = config.Duration(time.Second)
		}, "tier"},
		"a database": {same, func(c *config.Config) {
			same(c)
			c.Source.SQLite.Path = other.config.Source.SQLite.Path
		}, "reads another database"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeveral(t, "a", "b")
			s.run("a", c.a)
			s.await(s.nodes["a"].Node)
			s.run("b", c.b)
			eventually(t, "a says "+c.says, func() bool {
				_, body := s.ready(s.nodes["a"].Node)
				return strings.HasPrefix(body, "ready, degraded\ntier: ") && strings.Contains(body, c.says)
			})
			if got := s.at("a").do("HGET", "users:1", "id"); got != "1" {
				t.Errorf("users:1 at a: %s", got)
			}
		})
	}
}

// Nodes that gossip find each other, with a key, and know when one leaves.
func TestTierByGossip(t *testing.T) {
	s := newSeveral(t, "a", "b")
	s.config.Tier.Members = nil
	key := secret(t, "0123456789abcdef")
	var seed string
	gossips := func(c *config.Config) {
		port, err := stack.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		c.Tier.Key, c.Tier.Gossip.Listen = key, fmt.Sprintf("127.0.0.1:%d", port)
		if seed != "" {
			c.Tier.Gossip.Seeds = []string{seed}
		}
		seed = c.Tier.Gossip.Listen
	}
	s.run("a", gossips)
	s.await(s.nodes["a"].Node)
	s.run("b", gossips)
	s.await(s.nodes["b"].Node)
	s.agree("a", "b")
	for _, key := range append(s.owned("a", 5), s.owned("b", 5)...) {
		if got := s.at("a").do("HGET", key, "id"); key != "users:"+got {
			t.Errorf("%s: %s", key, got)
		}
	}
	if forwarded := s.metric(s.nodes["a"].Node, "freshet_route_reads_total", `outcome="forwarded"`); forwarded != 5 {
		t.Errorf("%v reads were forwarded", forwarded)
	}
	s.nodes["b"].stop()
	s.agree("a")
}

// Every directory is one that a node can be built with.
func TestTierByEveryDirectory(t *testing.T) {
	for name, set := range map[string]func(*config.Tier){
		"members":    func(c *config.Tier) { c.Members = []string{"127.0.0.1:6490"} },
		"dns":        func(c *config.Tier) { c.DNS.Name, c.DNS.Port = "freshet.example", 6490 },
		"srv":        func(c *config.Tier) { c.DNS.Name = "_peer._tcp.freshet.example" },
		"gossip":     func(c *config.Tier) { c.Gossip.Listen = "127.0.0.1:6491" },
		"kubernetes": func(c *config.Tier) { c.Kubernetes.Namespace, c.Kubernetes.Service = "shop", "freshet" },
		"skipper": func(c *config.Tier) {
			c.Members, c.Placement, c.Fade = []string{"127.0.0.1:6490"}, "skipper", "skipper"
		},
	} {
		s := newStack(t, everyMapping()...)
		s.config.Tier.Name, s.config.Relay.Admin = "a", anyPort
		set(&s.config.Tier)
		if err := s.config.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := node.Check(t.Context(), s.config); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
