package hashring

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func ring(t *testing.T, members ...string) *Ring {
	t.Helper()
	r, err := New(1, members)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// cacheNodes are names whose points the library itself would confuse:
// "cache-1"+"10" is "cache-11"+"0".
func cacheNodes(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("cache-%d", i)
	}
	return names
}

func TestPlacementDoesNotDependOnOrder(t *testing.T) {
	for _, names := range [][]string{
		cacheNodes(12), cacheNodes(16), {"node-1", "node-11"}, {"a", "a#1", "a#"}, {"h:1", "h:10", "h:11", "h:111"},
	} {
		want := ring(t, names...)
		for seed := range uint64(5) {
			shuffled := slices.Clone(names)
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(names), func(i, j int) {
				shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
			})
			got := ring(t, shuffled...)
			if got.owners != want.owners || got.Checksum() != want.Checksum() {
				t.Errorf("%v and %v place slots differently", names, shuffled)
			}
		}
	}
}

func TestNewMemberTakesItsShareAndMovesNothingElse(t *testing.T) {
	for _, n := range []int{1, 3, 10, 30} {
		before, after := ring(t, cacheNodes(n)...), ring(t, cacheNodes(n+1)...)
		joined := fmt.Sprintf("cache-%d", n)
		taken, needless := 0, 0
		for slot := range Slots {
			switch {
			case after.Owner(slot) == joined:
				taken++
			case after.Owner(slot) != before.Owner(slot):
				needless++
			}
		}
		ideal := float64(Slots) / float64(n+1)
		if ratio := float64(taken) / ideal; ratio < 0.7 || ratio > maxLoad {
			t.Errorf("%d to %d: the new member took %.2f of its share", n, n+1, ratio)
		}
		if needless > Slots/200 {
			t.Errorf("%d to %d: %d slots moved between old members", n, n+1, needless)
		}
	}
}

func TestLoadIsBalanced(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 10, 50, 100} {
		r := ring(t, cacheNodes(n)...)
		average, total := float64(Slots)/float64(n), 0
		for _, m := range r.Members() {
			owned := r.Owned(m)
			total += owned
			// The bound is rounded up to whole slots.
			if load := float64(owned); load > average*maxLoad+1 || load < average*0.6 {
				t.Errorf("%d members: %s owns %.2f of the average", n, m, load/average)
			}
		}
		if total != Slots {
			t.Errorf("%d members own %d slots", n, total)
		}
	}
}

func TestNewRefusesWhatTheLibraryPanicsOn(t *testing.T) {
	for name, members := range map[string][]string{
		"none":     {},
		"nil":      nil,
		"empty":    {"a", ""},
		"twice":    {"a", "b", "a"},
		"too many": cacheNodes(maxMembers + 1),
	} {
		if r, err := New(1, members); err == nil || r != nil {
			t.Errorf("%s: New gave %v, %v", name, r, err)
		}
	}
}

func TestPlaceTurnsAPanicIntoAnError(t *testing.T) {
	if err := (&Ring{}).place(); err == nil {
		t.Error("the library placed slots over nobody")
	}
}

func TestChecksumTellsPlacementsApart(t *testing.T) {
	seen := map[uint64]string{}
	for _, names := range [][]string{{"a"}, {"b"}, {"a", "b"}, {"a", "c"}, {"ab"}, {"a", "b", "c"}} {
		r := ring(t, names...)
		if other, dup := seen[r.Checksum()]; dup {
			t.Errorf("%v has the checksum of %s", names, other)
		}
		seen[r.Checksum()] = fmt.Sprint(names)
	}
	a, _ := New(1, []string{"a"})
	b, _ := New(2, []string{"a"})
	if a.Checksum() != b.Checksum() || a.Version() == b.Version() {
		t.Error("the version is part of the checksum, or not kept")
	}
}

// The placement is shared by nodes of different builds: it may not change
// without being noticed.
func TestPlacementIsPinned(t *testing.T) {
	if got := ring(t, cacheNodes(3)...).Checksum(); got != 0xc8c068da1bf296e5 {
		t.Errorf("checksum of three members = %#x: nodes of another build place slots differently", got)
	}
}

func TestOwnerAllocatesNothing(t *testing.T) {
	r, key := ring(t, cacheNodes(3)...), []byte("users:42")
	if n := testing.AllocsPerRun(100, func() { _ = r.Owner(SlotOf(key)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOwner(b *testing.B) {
	r, err := New(1, cacheNodes(10))
	if err != nil {
		b.Fatal(err)
	}
	key := []byte("users:42")
	b.ReportAllocs()
	for b.Loop() {
		r.Owner(SlotOf(key))
	}
}
