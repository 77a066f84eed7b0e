package e2e

import (
	"fmt"
	"strings"
	"time"
)

// finder is a directory outside of the tier, by which its nodes find each
// other.
type finder interface {
	// list has these be the members.
	list(names ...string)
	// lose has it answer nobody, or with what is no answer, and find ends that.
	lose()
	find()
}

// findable are tests of a tier that a directory knows: its nodes join and answer
// for each other, and one leaves; while the directory is away they go on
// with whom they know, and once it is back with whom it knows. says is what a
// node is to say of a directory that is away.
func (s *several) findable(by finder, says string) {
	t := s.t
	t.Helper()
	by.list("a", "b", "c")
	s.all()
	s.answersAll("a", "b", "c")

	s.nodes["c"].stop()
	by.list("a", "b")
	s.agree("a", "b")
	s.answersAll("a", "b")

	by.lose()
	s.says("a", says)
	s.says("b", says)
	sum := s.ring("a").Checksum
	for _, name := range []string{"a", "b"} {
		if r := s.ring(name); r.Checksum != sum || len(r.Members) != 2 {
			t.Errorf("%s sees ring %s of %d members, and it was %s of two", name, r.Checksum, len(r.Members), sum)
		}
	}
	s.answersAll("a", "b")
	s.nodes["b"].stop() // who is there, nodes find out by themselves
	s.agree("a")
	s.run("b") // which is told of nobody
	s.await(s.nodes["b"].Node)
	if got := s.at("b").do("HGET", "users:1", "id"); got != "1" {
		t.Errorf("users:1 at a node that knows nobody: %s", got)
	}

	by.list("a", "b", "c")
	by.find()
	s.run("c")
	s.await(s.nodes["c"].Node)
	s.patiently("the tier is whole again", func() bool {
		for _, name := range s.names {
			if r := s.ring(name); len(r.Problems) > 0 || len(r.Members) != 3 {
				return false
			}
		}
		return true
	})
	s.agree("a", "b", "c")
	s.answersAll("a", "b", "c")
}

// answersAll has nodes answer keys of all, and checks that they ask each other
// for these.
func (s *several) answersAll(names ...string) {
	t := s.t
	t.Helper()
	for _, asked := range names {
		before := s.metric(s.nodes[asked].Node, "freshet_route_reads_total", `outcome="forwarded"`)
		c := s.at(asked)
		for _, owner := range names {
			for _, key := range s.owned(owner, 3) {
				if got := c.do("HGET", key, "id"); key != "users:"+got {
					t.Errorf("%s of %s at %s: %s", key, owner, asked, got)
				}
			}
		}
		want := float64(3 * (len(names) - 1))
		if forwarded := s.metric(s.nodes[asked].Node, "freshet_route_reads_total", `outcome="forwarded"`) - before; forwarded != want {
			t.Errorf("%s asked others for %v keys, and they own %v", asked, forwarded, want)
		}
	}
}

// says waits until a node that serves says what is wrong.
func (s *several) says(name, problem string) {
	s.t.Helper()
	s.patiently(fmt.Sprintf("%s says %q", name, problem), func() bool {
		_, body := s.ready(s.nodes[name].Node)
		return strings.HasPrefix(body, "ready, degraded\ntier: ") && strings.Contains(body, problem)
	})
}

// patiently waits longer than what asks a directory does between two attempts:
// client-go up to a minute.
func (s *several) patiently(what string, f func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(4 * patience); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			_, body := s.ready(s.nodes["a"].Node)
			s.t.Fatalf("never: %s\n%s", what, body)
		}
	}
}
