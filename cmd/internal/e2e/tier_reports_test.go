package e2e

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
)

// What people reported of tiers, with the reporters' input. The names in the
// comments are those of testdata/scenarios.md.

// B12: each of two nodes is sure that the other one owns a key, and both are asked
// for it at once. Each asks the other, once, and nobody waits for who waits for
// them.
func TestTierOfNodesThatOweEachOther(t *testing.T) {
	s := newSeveral(t, "a", "b")
	s.run("a")
	s.run("b", func(own *config.Config) { own.Tier.Placement = "skipper" })
	for _, name := range s.names {
		s.await(s.nodes[name].Node)
	}
	s.agree("a", "b")
	owner := func(at, key string) string { return s.nodes[at].Ring([]byte(key), time.Now()).Key.Owner }
	var keys []string
	for id := 1; len(keys) < 20; id++ {
		if key := fmt.Sprintf("users:%d", id); owner("a", key) == "b" && owner("b", key) == "a" {
			keys = append(keys, key)
		}
	}
	var all sync.WaitGroup
	for _, name := range s.names {
		for range 5 {
			c := s.at(name)
			all.Go(func() {
				for _, key := range keys {
					if id, err := c.Do("HGET", key, "id"); err != nil || key != "users:"+id {
						t.Errorf("%s at %s: %q, %v", key, name, id, err)
					}
				}
			})
		}
	}
	all.Wait()
	for _, name := range s.names {
		n := s.nodes[name].Node
		if forwarded := s.metric(n, "freshet_route_reads_total", `outcome="forwarded"`); forwarded == 0 {
			t.Errorf("the other node has answered %s nothing", name)
		}
		if misplaced := s.metric(n, "freshet_route_misplaced_total"); misplaced == 0 {
			t.Errorf("%s was asked for no key that is the other's: this test shows nothing", name)
		}
	}
}

// ownedBy returns a row that a node owns under a use case.
func (s *several) ownedBy(name, useCase string) (id int) {
	s.t.Helper()
	for id = 1; s.nodes[name].Ring(fmt.Appendf(nil, "%s:%d", useCase, id), time.Now()).Key.Owner != name; id++ {
	}
	return id
}

// heat makes a key one that a node keeps though another one owns it.
func (s *several) heat(name, key string) {
	s.t.Helper()
	many := append([]string{"EXISTS"}, slices.Repeat([]string{key}, 1000)...)
	c := s.at(name)
	hot := s.metric(s.nodes[name].Node, "freshet_route_reads_total", `outcome="hot"`)
	eventually(s.t, key+" is hot at "+name, func() bool {
		c.do(many...)
		return s.metric(s.nodes[name].Node, "freshet_route_reads_total", `outcome="hot"`) > hot
	})
}

// B50, B58: one of three nodes hears of no change any more, and no connection
// breaks. It owns one key, and like the others it keeps a copy of another that
// is hot. Whoever is asked for either is within the bound, also through the deaf
// one, and the ring tells of it.
func TestTierWithADeafNode(t *testing.T) {
	s := prepared(newStack(t, shortAndLong()...), "a", "b", "c")
	broker := s.silentBroker()
	s.relay()
	s.run("a")
	s.run("c")
	s.await(s.nodes["a"].Node)
	s.await(s.nodes["c"].Node)
	deaf := broker.apart()
	s.run("b")
	s.await(s.nodes["b"].Node)
	s.agree("a", "b", "c")
	degraded := func() bool { return s.ring("a").Members[1].Degraded } // b, as a sees it
	eventually(t, "b is well", func() bool { return !degraded() })

	its, hot := s.ownedBy("b", "short"), s.ownedBy("c", "short")
	for _, name := range []string{"a", "b"} {
		s.heat(name, fmt.Sprint("short:", hot))
	}
	deaf.Lock()
	unlock := sync.OnceFunc(deaf.Unlock)
	defer unlock()
	eventually(t, "a tells that b is degraded", degraded)
	for round := range 3 {
		credit := 7000 + round
		for _, id := range []int{its, hot} {
			for _, name := range s.names {
				s.at(name).do("HGET", fmt.Sprint("short:", id), "credit") // so that each has the one before
			}
			want := s.setCredit(id, credit)
			for _, name := range s.names {
				s.at(name).becomes(short, want, "HGET", fmt.Sprint("short:", id), "credit")
			}
		}
	}
	unlock()
	eventually(t, "b is well again", func() bool { return !degraded() })
}
