package hot

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// mixed spreads small numbers as a hash would.
func mixed(n uint64) uint64 {
	n = (n + 1) * 0x9E3779B97F4A7C15
	n ^= n >> 29
	return n * 0xBF58476D1CE4E5B9
}

// stream is a Zipf stream over 100,000 keys, and how often each key is in it.
func stream(seed int64, s float64, n int) (keys []uint64, exact map[uint64]int) {
	zipf := rand.NewZipf(rand.New(rand.NewSource(seed)), s, 1, 100_000)
	exact = map[uint64]int{}
	for range n {
		key := mixed(zipf.Uint64() + uint64(seed)<<32)
		keys = append(keys, key)
		exact[key]++
	}
	return keys, exact
}

// Space-Saving's promise, in sets: a key's reads lie within its counter's bounds, and
// who is above a hundredth has a counter.
func TestCountsBoundTheTruth(t *testing.T) {
	for seed := range int64(20) {
		keys, exact := stream(seed, 1.01+float64(seed)/20, 50_000)
		c := newCounts(keySets, false)
		for _, k := range keys {
			c.add(k, nil)
		}
		found := map[uint64]counter{}
		if seen := c.each(func(one counter, _ []byte) { found[one.hash] = one }); seen != uint64(len(keys)) {
			t.Fatalf("seed %d: saw %d of %d", seed, seen, len(keys))
		}
		for hash, one := range found {
			if n := uint32(exact[hash]); n < one.least() || n > one.count {
				t.Errorf("seed %d: a key of %d reads is counted as %d to %d", seed, n, one.least(), one.count)
			}
		}
		for hash, n := range exact {
			if _, ok := found[hash]; n >= len(keys)/100 && !ok {
				t.Errorf("seed %d: a key of %d of %d reads has no counter", seed, n, len(keys))
			}
		}
	}
}

// Precision and recall against exact counts, with the sampling of the product:
// 30,000 reads a second, of which a hundredth is 300.
func TestHotKeysOfZipf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		right, found, wanted, clear, missed := 0, 0, 0, 0, 0
		for seed := range int64(20) {
			k := NewKeys(Options{})
			keys, exact := stream(seed, 1.01+float64(seed)/20, 150_000)
			for i, key := range keys {
				k.Saw(key)
				if i%30_000 == 29_999 {
					time.Sleep(turn)
				}
			}
			for range 64 { // one of them is counted, and the turn is over
				k.Saw(keys[0])
			}
			for hash, n := range exact {
				is := k.Is(hash)
				if n >= 1500 {
					wanted++
				}
				if is {
					found++
				}
				if is && n >= 1500 {
					right++
				}
				if n >= 1800 { // clearly above the edge, whatever chance picks
					clear++
					if !is {
						missed++
					}
				}
				if is && n < 750 {
					t.Errorf("seed %d: a key with %d of 150,000 reads is hot", seed, n)
				}
			}
		}
		t.Logf("precision %d/%d, recall %d/%d, and of keys a fifth above the edge %d/%d are missed", right, found, right, wanted, missed, clear)
		if right*10 < found*7 || right*10 < wanted*8 || missed*20 > clear {
			t.Error("the sketch is worse than it was")
		}
	})
}

// A key at the edge does not come and go.
func TestHysteresis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewKeys(Options{})
		edge, flips, was := mixed(1<<40), 0, false
		for second := range 100 {
			for i := range 20_000 {
				if i%100 == 0 {
					k.Saw(edge)
				} else {
					k.Saw(mixed(uint64(second*20_000 + i)))
				}
			}
			time.Sleep(turn)
			if is := k.Is(edge); is != was {
				flips++
				was = is
			}
		}
		if !was || flips > 3 {
			t.Errorf("a key at the edge is hot: %v, after %d changes in 100 s", was, flips)
		}
	})
}

// Few reads make nothing hot, and what is not read any more cools down.
func TestRateAndRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewKeys(Options{})
		for range 10 {
			for range 40 { // all of them of one key
				k.Saw(7)
			}
			time.Sleep(turn)
		}
		if k.Is(7) {
			t.Error("40 reads a second are hot")
		}
		for range 3 {
			for range 4000 {
				k.Saw(7)
			}
			time.Sleep(turn)
		}
		if !k.Is(7) || k.Number() != 1 {
			t.Errorf("4,000 reads a second: hot %v, %d keys", k.Is(7), k.Number())
		}
		time.Sleep(time.Hour)
		for i := range uint64(100) {
			k.Saw(mixed(i))
		}
		if k.Number() != 0 {
			t.Errorf("%d keys are hot after an hour without reads", k.Number())
		}
	})
}

// More candidates than there is room for are no trouble.
func TestManyHot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewKeys(Options{Share: 0.0001, Rate: 1})
		for range 3 {
			for i := range uint64(100_000) {
				k.Saw(mixed(i % 400))
			}
			time.Sleep(turn)
		}
		if n := k.Number(); n != mostHot {
			t.Errorf("%d keys are hot", n)
		}
	})
}

func TestMemory(t *testing.T) {
	k := NewKeys(Options{})
	bytes := unsafe.Sizeof(*k) + uintptr(len(k.counts.sets))*unsafe.Sizeof(set{}) + 2*unsafe.Sizeof(table{})
	t.Logf("%d bytes", bytes)
	if bytes > 64<<10 {
		t.Errorf("%d bytes", bytes)
	}
}

// Many cores at once: nothing is lost that was counted.
func TestAtOnce(t *testing.T) {
	k, l := NewKeys(Options{}), NewList()
	var all sync.WaitGroup
	for w := range uint64(8) {
		all.Go(func() {
			for i := range uint64(5_000) {
				k.Saw(mixed(i % (w + 2)))
				k.counts.add(mixed(i), nil)
				l.Saw(fmt.Appendf(nil, "key:%d", i%(w+2)))
				if i%1000 == 0 {
					k.look(1)
					l.Hottest(func([]byte) bool { return true }, 10)
				}
			}
		})
	}
	all.Wait()
	if seen := l.counts.each(func(counter, []byte) {}); seen != 40_000 {
		t.Errorf("the list saw %d of 40,000", seen)
	}
}

// The list has the hottest keys first, forgets by halves, and gives copies.
func TestList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewList()
		zipf := rand.NewZipf(rand.New(rand.NewSource(1)), 1.1, 1, 1_000_000)
		exact := map[string]int{}
		for range 200_000 {
			key := fmt.Sprintf("users:%d", zipf.Uint64())
			exact[key]++
			l.Saw([]byte(key))
		}
		var order []string
		for key := range exact {
			order = append(order, key)
		}
		slices.SortFunc(order, func(a, b string) int { return cmp.Compare(exact[b], exact[a]) })
		all := func([]byte) bool { return true }
		got, best := 0, 0
		for i, key := range l.Hottest(all, 1000) {
			got, best = got+exact[string(key)], best+exact[order[i]]
		}
		t.Logf("the list's first 1,000 of %d keys have %d reads, and the 1,000 hottest %d", len(exact), got, best)
		if got*100 < best*95 {
			t.Error("the list misses more than a twentieth")
		}
		if first := l.Hottest(all, 1); string(first[0]) != order[0] {
			t.Errorf("hottest: %q, not %q", first, order[0])
		}
		odd := l.Hottest(func(key []byte) bool { return key[len(key)-1] == '1' }, 10)
		for _, key := range odd {
			if key[len(key)-1] != '1' {
				t.Errorf("%s was not wanted", key)
			}
		}
		if n := len(l.Hottest(all, 1<<20)); n > listSets*ways {
			t.Errorf("%d keys", n)
		}
		time.Sleep(time.Hour)
		if n := len(l.Hottest(all, 10)); n != 0 {
			t.Errorf("%d keys after an hour", n)
		}
	})
}

// Each of many keys is picked equally often, in batches of any size.
func TestPick(t *testing.T) {
	l := NewList()
	for _, n := range []int{1, 16, 64, 200} {
		picked := 0
		for range 100_000 {
			switch i := l.Pick(n); {
			case i >= n:
				t.Fatalf("%d of %d", i, n)
			case i >= 0:
				picked++
			}
		}
		want := 100_000 * min(n, listed) / listed
		if picked < want*9/10 || picked > want*11/10 {
			t.Errorf("batches of %d: %d of 100,000 show a key, want about %d", n, picked, want)
		}
	}
}

func BenchmarkSaw(b *testing.B) {
	k := NewKeys(Options{})
	b.ReportAllocs()
	var n uint64
	for b.Loop() {
		n++
		k.Saw(mixed(n % 1000))
	}
}

func BenchmarkSawAtOnce(b *testing.B) {
	k := NewKeys(Options{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for n := uint64(0); pb.Next(); n++ {
			k.Saw(mixed(n % 1000))
		}
	})
}

func BenchmarkListSaw(b *testing.B) {
	l := NewList()
	key := []byte("users:00000000")
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		for i, v := len(key)-1, n%100_000; i > 6; i, v = i-1, v/10 {
			key[i] = byte('0' + v%10)
		}
		l.Saw(key)
	}
}
