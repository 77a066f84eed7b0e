package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
)

// announced has a node know itself by the address at which the others look for
// it.
func (s *several) announced(name string) func(*config.Config) {
	return func(c *config.Config) { c.Tier.Announce = s.ways[name].Address() }
}

// While a node of which all commands have keys is lost, every answer is whole and
// in order.
func TestTierAnswersManyKeysWhileANodeIsLost(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	for i := range s.config.UseCases {
		s.config.UseCases[i].Timeout = config.Duration(10 * time.Second)
	}
	s.all()
	many := []string{"MGET"}
	for id := 1; id <= 60; id++ {
		many = append(many, fmt.Sprintf("key:%012d", id))
	}
	want := s.at("b").do(many...)
	stop := make(chan struct{})
	var load sync.WaitGroup
	for _, name := range []string{"a", "a", "c", "c"} {
		c := s.at(name)
		load.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					if n < 10 {
						t.Errorf("%d answers at %s", n, name)
					}
					return
				default:
				}
				if got, err := c.Do(many...); err != nil || got != want {
					t.Errorf("at %s: %v, %q", name, err, got)
					return
				}
			}
		})
	}
	s.lose("b")
	s.agree("a", "c")
	close(stop)
	load.Wait()
}

// A node sees the others, and is not seen by them: they go on without it, it
// goes on with them, and all answer right. Two nodes then own some keys.
func TestTierThatIsHalfDivided(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	for _, name := range s.names {
		s.run(name, s.announced(name))
	}
	for _, name := range s.names {
		s.await(s.nodes[name].Node)
	}
	s.agree("a", "b", "c")
	s.answersAll("a", "b", "c")
	s.ways["a"].Cut()
	s.agree("b", "c")
	if r := s.ring("a"); len(r.Members) != 3 {
		t.Errorf("a sees %d members", len(r.Members))
	}
	a, b := s.at("a"), s.at("b")
	for i, owner := range s.names { // as a has it
		for _, key := range s.owned(owner, 5) {
			credit := fmt.Sprint(5000 + i)
			a.do("HGET", key, "credit")
			b.do("HSET", key, "credit", credit)
			if got := b.do("HGET", key, "credit"); got != credit {
				t.Errorf("%s of %s, where it was written: %s, not %s", key, owner, got, credit)
			}
			a.becomes(patience, credit, "HGET", key, "credit")
		}
	}
	s.ways["a"].Pass()
	s.agree("a", "b", "c")
	s.answersAll("a", "b", "c")
}

// A member that cannot be found is told of, and keeps nobody from being a tier.
func TestTierWithAMemberThatCannotBeFound(t *testing.T) {
	s := newSeveral(t, "a", "b")
	s.config.Tier.Members = append(s.config.Tier.Members, "nobody.invalid:7400")
	s.all()
	s.answersAll("a", "b")
	s.says("a", "nobody.invalid:7400")
}
