package skipper

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// naive is the ring as the specification says it: all points in a list, looked
// at one by one.
type naive []struct {
	hash uint64
	of   int
}

func naively(endpoints []Endpoint) (n naive) {
	for i, e := range endpoints {
		for j := range 100 * e.Weight {
			n = append(n, struct {
				hash uint64
				of   int
			}{xxhash.Sum64String(fmt.Sprintf("%s-%d", e.Address, j)), i})
		}
	}
	return n
}

// first returns the accepted endpoint whose point is nearest, going up and
// around: unsigned subtraction is the distance.
func (n naive) first(hash uint64, accept func(int) bool) int {
	best, distance := -1, uint64(0)
	for _, p := range n {
		if accept(p.of) && (best < 0 || p.hash-hash < distance) {
			best, distance = p.of, p.hash-hash
		}
	}
	return best
}

func TestRingIsTheNaiveOne(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		endpoints := make([]Endpoint, 1+rng.IntN(12))
		for i := range endpoints {
			endpoints[i] = Endpoint{fmt.Sprintf("http://%x:%d", rng.Uint32(), rng.IntN(1<<16)), 1 + rng.IntN(4)}
		}
		r, err := New(endpoints)
		if err != nil {
			t.Fatal(err)
		}
		n := naively(endpoints)
		// At a point, one before and one behind it, at both ends, anywhere.
		hashes := []uint64{0, 1, ^uint64(0), ^uint64(0) - 1}
		for range 40 {
			at := n[rng.IntN(len(n))].hash
			hashes = append(hashes, at, at-1, at+1, rng.Uint64())
		}
		for _, hash := range hashes {
			if got, want := r.Owner(hash), n.first(hash, everyone); got != want {
				t.Fatalf("seed %d: %016x is owned by %d, want %d", seed, hash, got, want)
			}
			mask := rng.Uint32()
			accept := func(e int) bool { return mask>>e&1 == 1 }
			if got, want := r.First(hash, accept), n.first(hash, accept); got != want {
				t.Fatalf("seed %d: the first of %b from %016x is %d, want %d", seed, mask, hash, got, want)
			}
		}
	}
}

// A weight adds points to Skipper's and takes none of them: what the others
// hold, they may lose to that endpoint only.
func TestWeightIsAPrefix(t *testing.T) {
	list := addresses("http://10.0.3.%d:9090", 6)
	even := ringOf(t, list...)
	weights := make([]Endpoint, len(list))
	for i, a := range list {
		weights[i] = Endpoint{a, 1}
	}
	weights[2].Weight = 3
	heavy, err := New(weights)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range naively(weights) {
		if got := heavy.Owner(p.hash); got != p.of {
			t.Errorf("point %016x belongs to %d, want %d", p.hash, got, p.of)
		}
	}
	won := 0
	for i := range 20000 {
		hash := Hash(fmt.Appendf(nil, "sku-%d", i))
		before, after := even.Owner(hash), heavy.Owner(hash)
		if before != after && after != 2 {
			t.Fatalf("%016x went from %d to %d, whose weight is as it was", hash, before, after)
		}
		if after == 2 {
			won++
		}
	}
	if share := float64(won) / 20000; share < 0.30 || share > 0.46 {
		t.Errorf("weight 3 of 8 holds %.3f", share)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, endpoints := range map[string][]Endpoint{
		"none":            nil,
		"weight 0":        {{"a", 0}},
		"weight below":    {{"a", -1}},
		"huge weight":     {{"a", 1 << 40}},
		"too many points": {{"a", maxPoints / pointsPerWeight}, {"b", 1}},
		"too many":        slices.Repeat([]Endpoint{{"a", 1}}, maxEndpoints+1),
	} {
		if r, err := New(endpoints); err == nil || r != nil {
			t.Errorf("%s: New gave %v, %v", name, r, err)
		}
	}
}

func thousand(tb testing.TB) *Ring {
	endpoints := make([]Endpoint, 1000)
	for i := range endpoints {
		endpoints[i] = Endpoint{fmt.Sprintf("http://10.7.%d.%d:9090", i/250, i%250), 1}
	}
	r, err := New(endpoints)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestLookUpAllocatesNothing(t *testing.T) {
	r, key, refused := thousand(t), []byte("users:42"), 0
	if n := testing.AllocsPerRun(100, func() {
		refused = r.Owner(Hash(key))
		r.First(Hash(key), func(e int) bool { return e != refused })
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A key's hash included, over keys that differ, so that the caches of the
// processor do not hold the one place that is asked for.
func BenchmarkOwnerOfThousand(b *testing.B) {
	r := thousand(b)
	keys := make([][]byte, 1<<14)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "users:%d", i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		r.Owner(Hash(keys[i&(len(keys)-1)]))
		i++
	}
}

func BenchmarkNewOfThousand(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		thousand(b)
	}
}
