package store

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

type blob struct {
	key  uint64
	data []byte
}

func put(s *Store[blob], key uint64, size int) {
	s.Put(key, &blob{key: key, data: make([]byte, size)}, size+40)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The heap that a store holds stays within its bytes, whatever the sizes, and
// also when resident values grow.
func TestHeapStaysWithinBound(t *testing.T) {
	const bound = 16 << 20
	for name, size := range map[string]func() int{
		"tiny":  func() int { return 1 },
		"small": func() int { return 100 },
		"mixed": func() int { return 1 << rand.N(15) },
		"large": func() int { return 64 << 10 },
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			s, err := New[blob](bound, func(*blob) {})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			keys := uint64(0)
			for total := 0; total < 3*bound; keys++ {
				n := size()
				total += n + 200
				put(s, keys*0x9e3779b97f4a7c15, n)
				if keys%1000 == 0 {
					s.Settle()
				}
			}
			s.Settle()
			held := heap() - before
			used, _ := s.Used()
			t.Logf("held %.1f MiB, accounted %.1f MiB", float64(held)/(1<<20), float64(used)/(1<<20))
			if held > bound {
				t.Errorf("the store holds %d bytes, its bound is %d", held, bound)
			}
			if held < bound/3 {
				t.Errorf("the store holds only %d bytes of %d", held, bound)
			}
		})
	}
}

func TestGrowingValuesMakeRoom(t *testing.T) {
	const bound = 8 << 20
	s, err := New[blob](bound, func(*blob) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for round, size := range []int{10, 100, 1000, 10_000, 10_000} {
		for i := range uint64(5000) {
			put(s, i, size)
			if i%100 == 0 {
				s.Settle()
			}
		}
		s.Settle()
		if used, _ := s.Used(); used > bound {
			t.Errorf("round %d: %d bytes used of %d", round, used, bound)
		}
	}
}

func TestTooSmallIsRefused(t *testing.T) {
	if _, err := New[blob](MinBytes-1, nil); err == nil {
		t.Fatal("a store smaller than its own tables was made")
	}
}

// Whatever is put, put again, refused, evicted and dropped, Len is the number
// of values that are there.
func TestLen(t *testing.T) {
	s, err := New[blob](MinBytes, func(*blob) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	random := rand.New(rand.NewPCG(1, 2))
	const keys = 2000
	for i := range 20_000 {
		key := random.Uint64N(keys)
		if random.IntN(5) == 0 {
			s.Drop(key)
		} else {
			put(s, key, random.IntN(1000))
		}
		if i%1000 != 0 {
			continue
		}
		s.Settle()
		there := int64(0)
		for key := range uint64(keys) {
			if s.Has(key) {
				there++
			}
		}
		if got := s.Len(); got != there {
			t.Fatalf("after %d operations: Len is %d, and %d values are there", i, got, there)
		}
	}
}
