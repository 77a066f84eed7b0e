package hashring

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var placements = []Placement{Rendezvous, Consistent, Skipper}

// noon is a moment at which scale-ups of every window tried begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func rings(t testing.TB, o Options, members ...Member) *Rings {
	t.Helper()
	r, err := New(o, 1, members, noon)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// even makes members of weight 1.
func even(names ...string) []Member {
	members := make([]Member, len(names))
	for i, name := range names {
		members[i] = Member{Name: name, Weight: 1}
	}
	return members
}

// cacheNodes are names whose points the library consistent would confuse:
// "cache-1"+"10" is "cache-11"+"0".
func cacheNodes(n int) []Member {
	members := make([]Member, n)
	for i := range members {
		members[i] = Member{Name: fmt.Sprintf("cache-%d", i), Weight: 1}
	}
	return members
}

// nodes returns the set of names number set: of pods, addresses, machines.
func nodes(set, n int) []Member {
	members := make([]Member, n)
	for i := range members {
		name := ""
		switch set % 4 {
		case 0:
			name = fmt.Sprintf("cache-%d.tier%d.svc.cluster.local", i, set)
		case 1:
			name = fmt.Sprintf("10.%d.%d.%d:7400", set, i/200, i%200)
		case 2:
			name = fmt.Sprintf("node%d-%04d", set, i)
		case 3:
			name = fmt.Sprintf("i-%016x", mix(uint64(set<<20+i)))
		}
		members[i] = Member{Name: name, Weight: 1}
	}
	return members
}

func shuffled(members []Member, seed uint64) []Member {
	members = slices.Clone(members)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(members), func(i, j int) {
		members[i], members[j] = members[j], members[i]
	})
	return members
}

func someKeys(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "users:%d", i)
	}
	return keys
}

func TestPlacementDoesNotDependOnOrder(t *testing.T) {
	weighted := cacheNodes(9)
	for i := range weighted {
		weighted[i].Weight = 1 + i%4
	}
	for _, p := range placements {
		for _, members := range [][]Member{
			cacheNodes(12), cacheNodes(16), weighted, even("node-1", "node-11"), even("a", "a/0#", "a#1", "a#"), even("h:1", "h:10", "h:11", "h:111"),
		} {
			want := rings(t, Options{Placement: p}, members...)
			for seed := range uint64(3) {
				got := rings(t, Options{Placement: p}, shuffled(members, seed)...)
				if got.Checksum() != want.Checksum() {
					t.Errorf("%s: %v has another checksum in another order", p, members)
				}
				for _, key := range someKeys(1000) {
					if a, b := got.Owner(key, noon), want.Owner(key, noon); a != b {
						t.Fatalf("%s: %q is of %s or %s, by the order of %v", p, key, a, b, members)
					}
				}
			}
		}
	}
}

// change counts, in slots: all that move from one table to another, and those
// that move to others than the joined member.
func change(before, after *Rings, joined string) (moved, needless int) {
	for slot := range Slots {
		if to := after.OwnerOfSlot(slot, noon); to != before.OwnerOfSlot(slot, noon) {
			moved++
			if to != joined {
				needless++
			}
		}
	}
	return moved, needless
}

const percent = 100.0 / Slots

func TestNewMemberTakesItsShareAndMovesLittleElse(t *testing.T) {
	for _, n := range []int{1, 3, 10, 100} {
		worst, most := 0.0, 0.0
		for set := range 20 {
			members := nodes(set, n+1)
			before, after := rings(t, Options{}, members[:n]...), rings(t, Options{}, members...)
			moved, needless := change(before, after, members[n].Name)
			worst = max(worst, math.Abs(float64(moved)*percent-100/float64(n+1)))
			most = max(most, float64(needless)*percent)
		}
		t.Logf("%d to %d: at most %.2f points from 1/%d, %.2f between old members", n, n+1, worst, n+1, most)
		if worst > 1 || most > 0.5 {
			t.Errorf("%d to %d: %.2f points from 1/%d, and %.2f moved between old members", n, n+1, worst, n+1, most)
		}
	}
}

func TestWeightsAreShares(t *testing.T) {
	worst := 0.0
	for set := range 20 {
		members := nodes(set, 3)
		for i := range members {
			members[i].Weight = 1 << i
		}
		r := rings(t, Options{}, members...)
		for _, m := range members {
			worst = max(worst, math.Abs(float64(r.Owned(m.Name))*percent-float64(m.Weight)*100/7))
		}
	}
	t.Logf("at most %.2f points from 1:2:4", worst)
	if worst > 2 {
		t.Errorf("a member's slots are %.2f points from its weight's share", worst)
	}
}

// A member whose weight is raised keeps what it has, and takes from the others
// four fifths of what the new virtual member is due.
func TestRaisedWeightMovesItsShareOnly(t *testing.T) {
	members := nodes(2, 5)
	before := rings(t, Options{}, members...)
	members[3].Weight = 2
	after := rings(t, Options{}, members...)
	moved, needless := change(before, after, members[3].Name)
	if share := float64(moved) * percent; math.Abs(share-100.0/6*4/5) > 1 || float64(needless)*percent > 0.5 {
		t.Errorf("%.2f %% moved, %d slots of them to others", share, needless)
	}
}

func TestLoadIsBounded(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 10, 50, 100, 1000} {
		members, total := cacheNodes(n), 0
		if n > 5 {
			members[1].Weight, members[4].Weight = 2, 4
		}
		for _, m := range members {
			total += m.Weight
		}
		r, all := rings(t, Options{}, members...), 0
		for _, m := range members {
			owned, share := r.Owned(m.Name), float64(Slots*m.Weight)/float64(total)
			all += owned
			// The bound is rounded up to whole slots.
			if float64(owned) >= share*loadPercent/100+1 {
				t.Errorf("%d members: %s holds %d slots of a share of %.1f", n, m.Name, owned, share)
			}
			if n <= 100 && float64(owned) < share*0.7 {
				t.Errorf("%d members: %s holds only %d slots of a share of %.1f", n, m.Name, owned, share)
			}
		}
		if all != Slots {
			t.Errorf("%d members hold %d slots", n, all)
		}
	}
}

// TestRendezvousIsTheNaiveOne takes each slot's members by all their draws,
// sorted, and gives it to the first that has room.
func TestRendezvousIsTheNaiveOne(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 2))
		members, total := nodes(int(seed), 1+rng.IntN(9)), 0
		for i := range members {
			members[i].Weight = 1 + rng.IntN(5)
			total += members[i].Weight
		}
		r, held := rings(t, Options{}, members...), map[string]int{}
		for slot := range Slots {
			ranked := rank(members, slot)
			i := slices.IndexFunc(ranked, func(m Member) bool {
				return float64(held[m.Name]) < math.Ceil(float64(Slots*m.Weight*loadPercent)/float64(total*100))
			})
			held[ranked[i].Name]++
			if got := r.OwnerOfSlot(slot, noon); got != ranked[i].Name {
				t.Fatalf("seed %d: slot %d is of %s, want %s", seed, slot, got, ranked[i].Name)
			}
		}
	}
}

// rank orders members by their highest draws for a slot.
func rank(members []Member, slot int) []Member {
	highest := map[string]uint64{}
	for _, m := range members {
		for _, seed := range drawsOf([]Member{m}).seeds {
			highest[m.Name] = max(highest[m.Name], mix(seed^placeOf(slot)))
		}
	}
	return slices.SortedFunc(slices.Values(members), func(a, b Member) int {
		return cmp.Compare(highest[b.Name], highest[a.Name])
	})
}

func TestNewRefuses(t *testing.T) {
	many := cacheNodes(maxMembers + 1)
	heavy := cacheNodes(maxTotal/maxWeight + 1)
	for i := range heavy {
		heavy[i].Weight = maxWeight
	}
	for name, c := range map[string]struct {
		members []Member
		says    string
	}{
		"none":            {nil, "at least one member"},
		"none that owns":  {[]Member{{Name: "a", Weight: 1, State: Leaving}, {Name: "b", Weight: 1, State: Starting}}, "at least one member that serves"},
		"no name":         {even("a", ""), "not empty"},
		"twice":           {even("a", "b", "a"), `"a" is there twice`},
		"twice, one left": {[]Member{{Name: "a", Weight: 1}, {Name: "a", Weight: 1, State: Leaving}}, `"a" is there twice`},
		"long":            {even(strings.Repeat("n", maxName+1)), "at most 255 bytes, not 256"},
		"line break":      {even("a\nb"), "without control characters"},
		"zero byte":       {even("a\x00"), "without control characters"},
		"no UTF-8":        {even("\xff\xfe"), "UTF-8"},
		"weight 0":        {[]Member{{Name: "a"}}, "1 to 100, not 0"},
		"weight below 0":  {[]Member{{Name: "a", Weight: -1}}, "1 to 100, not -1"},
		"huge weight":     {[]Member{{Name: "a", Weight: math.MaxInt}}, "1 to 100"},
		"unknown state":   {[]Member{{Name: "a", Weight: 1, State: 9}}, "unknown state 9"},
		"too many":        {many, "at most 1024 members, not 1025"},
		"too heavy":       {heavy, "at most 4096 together, not 4100"},
	} {
		for _, p := range placements {
			r, err := New(Options{Placement: p}, 1, c.members, noon)
			if err == nil || r != nil {
				t.Errorf("%s, %s: New gave %v, %v", p, name, r, err)
			} else if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %q does not say %q", name, err, c.says)
			}
		}
	}
	for name, o := range map[string]Options{
		"placement": {Placement: "random"}, "fade": {Fade: "coin"}, "window": {Window: -1},
		"exponent": {Exponent: -1}, "no number": {Exponent: math.NaN()},
	} {
		if r, err := New(o, 1, even("a"), noon); err == nil || r != nil {
			t.Errorf("%s: New gave %v, %v", name, r, err)
		}
	}
	heavy = heavy[:maxVirtual/maxWeight+1]
	if _, err := New(Options{Placement: Consistent}, 1, heavy, noon); err == nil || !strings.Contains(err.Error(), "at most 1024") {
		t.Errorf("1,100 virtual members of the library: %v", err)
	}
}

func TestPanicOfTheLibraryIsAnError(t *testing.T) {
	if err := placeConsistent([]Member{}, new([Slots]uint16)); err == nil {
		t.Error("the library placed slots over nobody")
	}
}

func TestWhoOwnsByState(t *testing.T) {
	members := even("a", "b", "c", "d")
	members[1].State, members[2].State, members[3].State = Away, Starting, Leaving
	r := rings(t, Options{}, members...)
	if r.Checksum() != rings(t, Options{}, even("a", "b")...).Checksum() {
		t.Error("the table is not that of the serving and the away member")
	}
	if len(r.Members()) != 4 || r.Owned("c") != 0 || r.Owned("a") == 0 {
		t.Errorf("members %v, owned %d and %d", r.Members(), r.Owned("c"), r.Owned("a"))
	}
}

func TestChecksumTellsPlacementsApart(t *testing.T) {
	seen := map[uint64]string{}
	for _, p := range placements {
		for _, members := range [][]Member{
			even("a"), even("b"), even("a", "b"), even("a", "c"), even("ab"), even("a", "b", "c"), {{Name: "a", Weight: 2}}, {{Name: "a", Weight: 2}, {Name: "b", Weight: 1}},
		} {
			r := rings(t, Options{Placement: p}, members...)
			if other, dup := seen[r.Checksum()]; dup {
				t.Errorf("%s %v has the checksum of %s", p, members, other)
			}
			seen[r.Checksum()] = fmt.Sprint(p, members)
		}
	}
	a, _ := New(Options{}, 1, even("a"), noon)
	b, _ := New(Options{}, 2, even("a"), noon)
	if a.Checksum() != b.Checksum() || a.Version() == b.Version() {
		t.Error("the version is part of the checksum, or not kept")
	}
}

// The placements are shared by nodes of different builds: they may not change
// without being noticed.
func TestPlacementsArePinned(t *testing.T) {
	members := append(cacheNodes(3), Member{Name: "big", Weight: 4})
	for p, want := range map[Placement]uint64{
		Rendezvous: 0x6b4456e4225a2748, Consistent: 0x165ce8d960517673, Skipper: 0x8dfc15fc1a74386a,
	} {
		if got := rings(t, Options{Placement: p}, members...).Checksum(); got != want {
			t.Errorf("%s: checksum of four members = %#x: nodes of another build place keys differently", p, got)
		}
	}
}

func TestNextIsTheOwnerWithoutTheOwner(t *testing.T) {
	for _, p := range placements {
		members := cacheNodes(7)
		r, differ := rings(t, Options{Placement: p}, members...), 0
		for _, gone := range members {
			without := rings(t, Options{Placement: p}, slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.Name == gone.Name })...)
			for _, key := range someKeys(2000) {
				if e := r.Explain(key, noon); e.Owner == gone.Name && e.Next != without.Owner(key, noon) {
					differ++
				}
			}
		}
		// Skipper's ring has no bound; the library's table has an order of its
		// own behind each owner, which it does not tell.
		if limit := map[Placement]int{Rendezvous: 20, Skipper: 0, Consistent: 2000}[p]; differ > limit {
			t.Errorf("%s: %d of 2,000 keys go to another member than the next", p, differ)
		}
	}
}

func TestLookUpAllocatesNothing(t *testing.T) {
	key := []byte("users:42")
	for _, p := range placements {
		members := cacheNodes(40)
		for i := range 10 {
			members[i].Joined = noon.Add(-10 * time.Second)
		}
		for _, fade := range []Fade{Keep, LikeSkipper} {
			r := rings(t, Options{Placement: p, Fade: fade, Window: 30 * time.Second}, members...)
			var bound Bound = Passing{r.Owner(key, noon): 1}
			if n := testing.AllocsPerRun(100, func() { r.Owner(key, noon); r.OwnerUnder(bound, key, noon) }); n != 0 {
				t.Errorf("%s, %s: %v allocations", p, fade, n)
			}
		}
	}
}

func BenchmarkOwner(b *testing.B) {
	keys := someKeys(1 << 14)
	for _, p := range []Placement{Rendezvous, Skipper} {
		for _, fading := range []int{0, 300} {
			members := nodes(1, 1000)
			for i := range fading {
				members[i].Joined = noon.Add(-time.Duration(i) * 100 * time.Millisecond)
			}
			r := rings(b, Options{Placement: p, Window: 30 * time.Second}, members...)
			b.Run(fmt.Sprintf("%s/fading=%d", p, fading), func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					r.Owner(keys[i&(len(keys)-1)], noon)
					i++
				}
			})
		}
	}
}
