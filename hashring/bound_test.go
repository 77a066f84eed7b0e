package hashring

import (
	"math"
	"testing"
)

// TestPassComesDownToTheLimit runs a member that has four times the mean by
// its own keys: whatever it passes on, others do.
func TestPassComesDownToTheLimit(t *testing.T) {
	const own, others, n = 4.0, 1.0, 9
	pass := 0.0
	for range 20 {
		occupancy := own * (1 - pass)
		mean := (own + others*n) / (n + 1) // the work stays in the tier
		pass = Pass(pass, occupancy, mean)
	}
	limit := OccupancyFactor * (own + others*n) / (n + 1)
	if got := own * (1 - pass); math.Abs(got-limit) > 1e-9 {
		t.Errorf("occupancy %.3f, want the limit of %.3f", got, limit)
	}
	// The load is gone: all keys come back.
	for range 20 {
		pass = Pass(pass, 0.5*(1-pass), 1)
	}
	if pass != 0 {
		t.Errorf("a member at half the mean passes on %.3f", pass)
	}
}

func TestPassAtItsEnds(t *testing.T) {
	for _, c := range []struct{ passed, occupancy, mean, want float64 }{
		{0, 0, 0, 0},
		{0.5, 0, 1, 0},
		{0, 1, 0, 0},
		{0, 1, 1, 0},
		{0, OccupancyFactor, 1, 0},
		{0, 2.7, 1, 0.5},
		{0.5, OccupancyFactor, 1, 0.5},
		{0, math.Inf(1), 1, maxPass},
		{0, 1e9, 1, maxPass},
	} {
		if got := Pass(c.passed, c.occupancy, c.mean); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("Pass(%v, %v, %v) = %v, want %v", c.passed, c.occupancy, c.mean, got, c.want)
		}
	}
}

func TestPassedKeysGoToTheNext(t *testing.T) {
	for _, p := range placements {
		members := nodes(1, 5)
		r := rings(t, Options{Placement: p}, members...)
		busy := members[2].Name
		half, most := Passing{busy: 0.5}, Passing{busy: 0.8}
		own, passed := 0, 0
		for _, key := range someKeys(20000) {
			e := r.Explain(key, noon)
			under, more := r.OwnerUnder(half, key, noon), r.OwnerUnder(most, key, noon)
			switch {
			case e.Owner != busy && (under != e.Owner || more != e.Owner):
				t.Fatalf("%s: %q moved from %s, which passes on nothing", p, key, e.Owner)
			case e.Owner != busy:
				continue
			case under != busy && (under != e.Next || more != under):
				t.Fatalf("%s: %q went to %s and %s, and the next is %s", p, key, under, more, e.Next)
			}
			own++
			if under != busy {
				passed++
			}
		}
		if share := float64(passed) / float64(own); math.Abs(share-0.5) > 0.03 {
			t.Errorf("%s: passed on %.3f, want half", p, share)
		}
	}
}

func TestOwnerKeepsWhatNobodyAdmits(t *testing.T) {
	for _, p := range placements {
		members := nodes(1, 3)
		r := rings(t, Options{Placement: p}, members...)
		everyone := Passing{members[0].Name: 1, members[1].Name: 1, members[2].Name: 1}
		for _, key := range someKeys(100) {
			if got, want := r.OwnerUnder(everyone, key, noon), r.Owner(key, noon); got != want {
				t.Errorf("%s: %q went from %s to %s", p, key, want, got)
			}
		}
	}
}

func TestInFlightIsSkippersBound(t *testing.T) {
	b := NewInFlight(map[string]int{"a": 11, "b": 11, "c": 9, "d": 9, "e": 9}, InFlightFactor)
	if !b.Admits("a", 0) || !b.Admits("c", 0) {
		t.Errorf("limit %v refuses 11 of a mean of 10", b.limit)
	}
	b = NewInFlight(map[string]int{"a": 12, "b": 11, "c": 9, "d": 9, "e": 8}, InFlightFactor)
	if b.Admits("a", 0) || !b.Admits("b", 0) {
		t.Errorf("limit %v", b.limit)
	}
}
