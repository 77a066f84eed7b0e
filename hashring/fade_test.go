package hashring

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/hashring/skipper"
)

const window = 30 * time.Second

// tier makes members, of which the last ones joined at the given times after
// noon, and the others long ago.
func tier(established int, joined ...time.Duration) []Member {
	members := nodes(0, established+len(joined))
	for i := range members[:established] {
		members[i].Joined = noon.Add(-time.Hour)
	}
	for i, after := range joined {
		members[established+i].Joined = noon.Add(after)
	}
	return members
}

func at(t testing.TB, o Options, members []Member, now time.Time) *Rings {
	t.Helper()
	o.Window = window
	r, err := New(o, 1, members, now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestKeysMoveAlongTheCurve(t *testing.T) {
	for _, p := range placements {
		for _, fade := range []Fade{Keep, LikeSkipper} {
			r := at(t, Options{Placement: p, Fade: fade}, tier(2, 0, 0), noon)
			var moving [][]byte // what the new members own in the end
			for _, key := range someKeys(10000) {
				if to := r.Owner(key, noon.Add(window)); to == r.members[2].Name || to == r.members[3].Name {
					moving = append(moving, key)
				}
			}
			for progress, want := range map[float64]float64{0.1: 0.003, 0.3: 0.049, 0.5: 0.177, 0.7: 0.410, 0.9: 0.768} {
				moved, now := 0, noon.Add(time.Duration(progress*float64(window)))
				for _, key := range moving {
					if r.Owner(key, now) == r.Owner(key, noon.Add(window)) {
						moved++
					}
				}
				if share := float64(moved) / float64(len(moving)); math.Abs(share-want) > 0.025 {
					t.Errorf("%s, %s: at %.1f %.3f of the keys have moved, want %.3f", p, fade, progress, share, want)
				}
			}
		}
	}
}

// story follows keys through times: the owners of each, without repeats.
func story(keys [][]byte, times []time.Duration, rings func(time.Duration) *Rings) [][]string {
	owners := make([][]string, len(keys))
	for _, after := range times {
		r := rings(after)
		for i, key := range keys {
			if o := r.Owner(key, noon.Add(after)); len(owners[i]) == 0 || owners[i][len(owners[i])-1] != o {
				owners[i] = append(owners[i], o)
			}
		}
	}
	return owners
}

// seconds returns every fifth second.
func seconds(from, to int) (times []time.Duration) {
	for s := from; s <= to; s += 5 {
		times = append(times, time.Duration(s)*time.Second)
	}
	return times
}

func TestKeyMovesOnceThroughOverlappingScaleUps(t *testing.T) {
	members := tier(6, 0, 0, 0, 10*time.Second, 10*time.Second, 25*time.Second, 45*time.Second)
	// At each time by a node that just started: nothing but the list counts.
	stories := story(someKeys(1000), seconds(0, 80), func(after time.Duration) *Rings {
		there := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.Joined.After(noon.Add(after)) })
		return at(t, Options{}, there, noon.Add(after))
	})
	final, again := at(t, Options{}, members, noon.Add(time.Hour)), 0
	for i, owners := range stories {
		if want := final.Owner(someKeys(1000)[i], noon); owners[len(owners)-1] != want {
			t.Fatalf("key %d is at %s in the end, want %s", i, owners[len(owners)-1], want)
		}
		if len(owners) > 2 {
			again++
		}
	}
	// A key that a scale-up had taken before a later one was known moves again.
	if share := float64(again) / float64(len(stories)); share > 0.08 {
		t.Errorf("%.3f of the keys moved more than once", share)
	}
}

func TestNewMembersWarmOnlyWhatTheyKeep(t *testing.T) {
	for _, second := range []time.Duration{0, 5 * time.Second, 15 * time.Second, 25 * time.Second} {
		strays := map[Fade]int{}
		members := tier(10, 0, 0, 0, 0, 0, second, second, second, second, second)
		fresh := func(name string) bool {
			return slices.ContainsFunc(members[10:], func(m Member) bool { return m.Name == name })
		}
		total := 0
		for _, fade := range []Fade{Keep, LikeSkipper} {
			r := at(t, Options{Fade: fade}, members, noon.Add(second))
			for after := second; after < window; after += 3 * time.Second {
				for _, key := range someKeys(500) {
					e := r.Explain(key, noon.Add(after))
					total++
					if e.Owner != e.Final && fresh(e.Owner) {
						strays[fade]++
					}
				}
			}
		}
		if strays[Keep] > 0 || second > 0 && strays[LikeSkipper] == 0 {
			t.Errorf("second scale-up after %s: strays %v of %d", second, strays, total)
		}
	}
}

func TestSecondScaleUpDoesNotRestartTheFirst(t *testing.T) {
	first, both := tier(3, 0), tier(3, 0, 20*time.Second)
	alone, then := at(t, Options{}, first, noon.Add(20*time.Second)), at(t, Options{}, both, noon.Add(20*time.Second))
	joined := first[3].Name
	for _, after := range []time.Duration{20 * time.Second, 25 * time.Second, 30 * time.Second} {
		for _, key := range someKeys(5000) {
			now := noon.Add(after)
			e := then.Explain(key, now)
			if e.Final == both[4].Name {
				continue // the second one's
			}
			if got, want := e.Owner == joined, alone.Owner(key, now) == joined; got != want {
				t.Fatalf("after %s %q is the first one's: %v, and without the second: %v", after, key, got, want)
			}
		}
	}
}

func TestRemovalIsInAllRingsAtOnce(t *testing.T) {
	for _, fade := range []Fade{Keep, LikeSkipper} {
		members := tier(4, 0, 10*time.Second)
		now := noon.Add(12 * time.Second)
		r := at(t, Options{Fade: fade}, members, now)
		for _, gone := range members {
			left := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.Name == gone.Name })
			next, err := r.Next(2, left, now)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range someKeys(3000) {
				e := next.Explain(key, now)
				if e.Owner == gone.Name || e.Next == gone.Name || e.Final == gone.Name {
					t.Fatalf("%s: %q is still at %s: %+v", fade, key, gone.Name, e)
				}
			}
		}
	}
}

func TestFinishedRingReplacesItsPredecessor(t *testing.T) {
	members := tier(3, 0, 10*time.Second)
	r := at(t, Options{}, members, noon.Add(10*time.Second))
	if got := r.Explain([]byte("a"), noon).Rings; got != 2 {
		t.Errorf("%d rings in force, want the newest and the one that both began from", got)
	}
	if r.Settle(noon.Add(29*time.Second)) != r {
		t.Error("rings changed while all fade in")
	}
	if due := r.Settled(); !due.Equal(noon.Add(window)) {
		t.Errorf("settled at %s", due)
	}
	one := r.Settle(noon.Add(30 * time.Second))
	if due := one.Settled(); !due.Equal(noon.Add(40 * time.Second)) {
		t.Errorf("then at %s", due)
	}
	done := one.Settle(noon.Add(40 * time.Second))
	if !done.Settled().IsZero() || len(done.joins) != 0 || done.newest != r.newest {
		t.Errorf("not settled: %+v", done.joins)
	}
	for after := 30 * time.Second; after < 50*time.Second; after += time.Second {
		for _, key := range someKeys(500) {
			now := noon.Add(after)
			if a, b := r.Owner(key, now), one.Owner(key, now); a != b {
				t.Fatalf("settling moved %q from %s to %s", key, a, b)
			}
			if a, b := r.Owner(key, now), done.Owner(key, now); after >= 40*time.Second && a != b {
				t.Fatalf("settling moved %q from %s to %s", key, a, b)
			}
		}
	}
}

// A node that starts finds in the list alone what the others know.
func TestFreshNodeAgrees(t *testing.T) {
	for _, fade := range []Fade{Keep, LikeSkipper} {
		members := tier(3)
		long := at(t, Options{Fade: fade}, members, noon.Add(-time.Minute))
		for after := time.Duration(0); after < 100*time.Second; after += 11 * time.Second {
			now := noon.Add(after)
			members = append(members, Member{Name: fmt.Sprintf("late-%d", after/time.Second), Weight: 1, Joined: now})
			var err error
			if long, err = long.Next(2, members, now); err != nil {
				t.Fatal(err)
			}
			fresh := at(t, Options{Fade: fade}, members, now)
			for _, key := range someKeys(2000) {
				if a, b := long.Owner(key, now), fresh.Owner(key, now); a != b {
					t.Fatalf("%s, %s: %q is at %s, and at %s by a node that just started", fade, after, key, a, b)
				}
			}
		}
	}
}

func TestUnknownStartIsWhenFirstSeen(t *testing.T) {
	members := even("a", "b")
	r := at(t, Options{}, members, noon)
	if !r.Settled().IsZero() {
		t.Error("members that were there at first fade in")
	}
	now := noon.Add(time.Minute)
	r, _ = r.Next(2, append(members, Member{Name: "c", Weight: 1}), now)
	if due := r.Settled(); !due.Equal(now.Add(window)) {
		t.Fatalf("the third is in at %s", due)
	}
	r, _ = r.Next(3, r.Members(), now.Add(10*time.Second))
	if due := r.Settled(); !due.Equal(now.Add(window)) {
		t.Errorf("seen again, it is in at %s", due)
	}
	r, _ = r.Next(4, members, now.Add(11*time.Second))
	r, _ = r.Next(5, append(members, Member{Name: "c", Weight: 1}), now.Add(20*time.Second))
	if due := r.Settled(); !due.Equal(now.Add(20*time.Second + window)) {
		t.Errorf("come back, it is in at %s", due)
	}
}

func TestStartInTheFutureIsNow(t *testing.T) {
	members := tier(3, 48*time.Hour)
	r := at(t, Options{}, members, noon)
	if due := r.Settled(); !due.Equal(noon.Add(window)) {
		t.Fatalf("in at %s", due)
	}
	// Its clock is no reason to begin again when that time comes.
	r = r.Settle(noon.Add(window))
	r, err := r.Next(2, members, noon.Add(48*time.Hour+time.Second))
	if err != nil || !r.Settled().IsZero() {
		t.Errorf("it joins again: %s, %v", r.Settled(), err)
	}
}

func TestYoungTierDoesNotFadeIn(t *testing.T) {
	members := tier(0, 0, 2*time.Second, 29*time.Second, 32*time.Second)
	r := at(t, Options{}, members, noon.Add(32*time.Second))
	for _, key := range someKeys(2000) {
		e := r.Explain(key, noon.Add(32*time.Second))
		if e.Owner != e.Final && e.Final != members[3].Name {
			t.Fatalf("%q waits for %s, and nobody had it before: %+v", key, e.Final, e)
		}
	}
	if due := r.Settled(); !due.Equal(noon.Add(62 * time.Second)) {
		t.Errorf("settled at %s: the last one joined a tier that had keys", due)
	}
}

// A tier that is replaced member by member as fast as can be has few rings.
func TestRollingRestartKeepsFewRings(t *testing.T) {
	members := tier(100)
	for i := range members {
		members[i].Joined = noon.Add(time.Duration(i) * 600 * time.Millisecond)
	}
	for _, fade := range []Fade{Keep, LikeSkipper} {
		r := at(t, Options{Fade: fade}, members, noon.Add(time.Minute))
		if got := len(r.joins); got > steps+1 {
			t.Errorf("%s: %d scale-ups at once", fade, got)
		}
	}
}

func TestWithoutAWindowKeysMoveAtOnce(t *testing.T) {
	members := tier(3, -time.Second)
	r, err := New(Options{}, 1, members, noon)
	if err != nil || !r.Settled().IsZero() || r.Owned(members[3].Name) == 0 {
		t.Errorf("%v, %v", r, err)
	}
}

// TestLikeSkipperIsSkippersFilter compares with what Skipper does with a draw:
// endpoints whose score is not above it are stepped over on the whole ring.
func TestLikeSkipperIsSkippersFilter(t *testing.T) {
	members := tier(4, 2*time.Second, 2*time.Second, 8*time.Second, 20*time.Second)
	r := at(t, Options{Placement: Skipper, Fade: LikeSkipper}, members, noon.Add(20*time.Second))
	whole := r.newest
	for after := 20100 * time.Millisecond; after < 52*time.Second; after += 1300 * time.Millisecond {
		now := noon.Add(after)
		for _, key := range someKeys(2000) {
			s := Skipper.spot(key)
			draw := r.draw(s)
			want := whole.points.First(skipper.Hash(key), func(e int) bool {
				return draw < skipper.Score(now.Sub(r.starts[whole.members[e].Name].at), window, 2.5)
			})
			if got := r.Owner(key, now); got != whole.members[want].Name {
				t.Fatalf("after %s %q is at %s, want %s", after, key, got, whole.members[want].Name)
			}
		}
	}
}

// TestKeepIsTheNaiveRule compares with the rule said in a few lines, without
// rings that are kept: for random tiers and times.
func TestKeepIsTheNaiveRule(t *testing.T) {
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, 3))
		members := nodes(int(seed), 2+rng.IntN(9))
		for i := range members {
			members[i].Joined = noon.Add(-time.Duration(rng.IntN(50)*2) * time.Second)
		}
		r := at(t, Options{}, members, noon)
		first := slices.MinFunc(members, func(a, b Member) int { return a.Joined.Compare(b.Joined) }).Joined
		among := func(until time.Time) *Rings {
			return rings(t, Options{}, slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.Joined.After(until) })...)
		}
		all := among(noon)
		memo := map[time.Time]*Rings{}
		for _, key := range someKeys(1500) {
			want := all.Owner(key, noon)
			joined := members[slices.IndexFunc(members, func(m Member) bool { return m.Name == want })].Joined
			share := math.Pow(float64(noon.Sub(joined))/float64(window), 2.5)
			draw := unit(mix(Rendezvous.spot(key).hash ^ uint64(joined.UnixNano())))
			if joined.After(first.Add(window)) && draw >= share {
				until := joined.Add(-window)
				if first.Add(window).After(until) {
					until = first.Add(window)
				}
				if memo[until] == nil {
					memo[until] = among(until)
				}
				want = memo[until].Owner(key, noon)
			}
			if got := r.Owner(key, noon); got != want {
				t.Fatalf("seed %d: %q is at %s, want %s", seed, key, got, want)
			}
		}
	}
}

func TestExplainSaysWhy(t *testing.T) {
	members := tier(3, 0)
	r := at(t, Options{}, members, noon)
	now, seen := noon.Add(15*time.Second), map[string]bool{}
	for _, key := range someKeys(500) {
		e := r.Explain(key, now)
		if e.Owner != r.Owner(key, now) || e.Slot != SlotOf(key) || e.Next == e.Owner || e.Rings != 2 {
			t.Fatalf("%q: %+v", key, e)
		}
		joins := e.Final == members[3].Name
		switch {
		case !joins && (e.Score != 1 || e.Owner != e.Final || e.Why != "no member that fades in is to have it"),
			joins && (e.Draw < e.Score) != (e.Owner == e.Final),
			joins && !strings.Contains(e.Why, "which fades in since 2026-03-01T12:00:00Z"):
			t.Fatalf("%q: %+v", key, e)
		}
		seen[fmt.Sprint(joins, e.Owner == e.Final)] = true
	}
	if len(seen) != 3 {
		t.Errorf("seen only %v", seen)
	}
}
