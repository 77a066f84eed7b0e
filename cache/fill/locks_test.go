package fill

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

type load struct {
	key    string
	closed bool // no longer joined
}

// A random twin: per key a naive list of flights, of which the first runs and
// at most one more waits.
func TestTwin(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		locks := New[load]()
		model := map[string][]*load{}
		for range 300 {
			key := strconv.Itoa(rng.IntN(4))
			hash := uint64(key[0])
			flights := model[key]
			join := func(f *load) bool { return !f.closed }
			create := func(k string) *load { return &load{key: k} }
			switch rng.IntN(5) {
			case 0, 1:
				f, start := locks.Enter(hash, []byte(key), join, create)
				switch {
				case len(flights) == 0:
					if !start {
						t.Fatalf("seed %d: a free key was not started", seed)
					}
					model[key] = []*load{f}
				case !flights[0].closed:
					if start || f != flights[0] {
						t.Fatalf("seed %d: the running flight was not joined", seed)
					}
				case len(flights) == 2:
					if start || f != flights[1] {
						t.Fatalf("seed %d: the waiting flight was not shared", seed)
					}
				default:
					if start || f == flights[0] {
						t.Fatalf("seed %d: no flight was queued behind a closed one", seed)
					}
					model[key] = append(flights, f)
				}
			case 2:
				f := locks.TryEnter(hash, []byte(key), create)
				if (f != nil) != (len(flights) == 0) {
					t.Fatalf("seed %d: TryEnter gave %v with %d flights", seed, f, len(flights))
				}
				if f != nil {
					model[key] = []*load{f}
				}
			case 3:
				if len(flights) > 0 {
					flights[0].closed = true
				}
			case 4:
				if len(flights) == 0 {
					continue
				}
				next := locks.Leave(hash, key)
				if len(flights) == 2 && next != flights[1] || len(flights) == 1 && next != nil {
					t.Fatalf("seed %d: Leave gave %v of %d flights", seed, next, len(flights))
				}
				model[key] = flights[1:]
			}
		}
	}
}

func TestNilFlightHoldsNothing(t *testing.T) {
	locks := New[load]()
	none := func(string) *load { return nil }
	if f, _ := locks.Enter(1, []byte("k"), nil, none); f != nil {
		t.Fatal("a flight nobody made")
	}
	if f, start := locks.Enter(1, []byte("k"), nil, func(k string) *load { return &load{key: k} }); f == nil || !start {
		t.Fatal("the key is held by nobody, and yet not free")
	}
}

// However many goroutines want a key, never more than one flight of it runs.
func TestOneRuns(t *testing.T) {
	locks := New[load]()
	var running, runs atomic.Int64
	run := func(f *load) {
		for f != nil {
			if running.Add(1) > 1 {
				t.Error("two flights of one key run at once")
			}
			runs.Add(1)
			running.Add(-1)
			f = locks.Leave(7, f.key)
		}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 5000 {
				f, start := locks.Enter(7, []byte("k"), func(*load) bool { return i%3 == 0 }, func(k string) *load { return &load{key: k} })
				if start {
					run(f)
				}
			}
		})
	}
	wg.Wait()
	if f, _ := locks.Running(7, []byte("k")); f != nil {
		t.Fatal("the lock is still held")
	}
	if runs.Load() == 0 {
		t.Fatal("nothing ran")
	}
}
