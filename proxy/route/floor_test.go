package route

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
)

// Against a map: a floor is never too low, and rarely too high.
func TestFloors(t *testing.T) {
	f, naive := new(floors), map[uint64]proxy.Time{}
	now := proxy.Time(1_700_000_000e9)
	high := 0
	for range 200_000 {
		now += proxy.Time(rand.IntN(1e6))
		hash := uint64(rand.IntN(20_000)) * 0x9E3779B97F4A7C15
		if rand.IntN(10) == 0 {
			f.raise(hash, now)
			naive[hash] = max(naive[hash], now)
			continue
		}
		got, want := f.of(hash), naive[hash]
		if got < want {
			t.Fatalf("floor %d of a key written at %d", got, want)
		}
		if got > max(want, now-200e6)+1<<unitBits {
			t.Fatalf("floor %d above what any write had", got)
		}
		// What counts is whether it is above a watermark that is 200 ms behind.
		if want < now-200e6 && got > now-200e6 {
			high++
		}
	}
	t.Logf("%d of 180,000 reads have another key's floor", high)
	if high > 1800 {
		t.Errorf("%d reads have another key's floor", high)
	}
}

func TestFloorsTakeNoNonsense(t *testing.T) {
	f := new(floors)
	for _, token := range []proxy.Time{0, -1, proxy.Never, proxy.Forever} {
		f.raise(7, token)
	}
	if got := f.of(7); got != 0 {
		t.Errorf("floor %d", got)
	}
}

// Writers of one slot at once: each finds its own floor when it has raised it.
func TestFloorsAtOnce(t *testing.T) {
	f := new(floors)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 20_000 {
				hash, token := uint64(w+1), proxy.Time(i+1)<<unitBits
				f.raise(hash, token)
				if got := f.of(hash); got < token {
					t.Errorf("floor %d, raised to %d", got, token)
					return
				}
			}
		})
	}
	all.Wait()
}
