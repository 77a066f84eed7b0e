package gate

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

func released[T any](g *Gate[T], visible func(uint64) bool) []T {
	return slices.Collect(g.Release(visible))
}

func only(shown ...uint64) func(uint64) bool {
	return func(tx uint64) bool { return slices.Contains(shown, tx) }
}

func TestRelease(t *testing.T) {
	type in struct {
		tx   uint64
		item string
	}
	cases := []struct {
		name    string
		in      []in
		visible []uint64
		want    []string
		left    int
	}{
		{"nothing", nil, nil, nil, 0},
		{"a checkpoint passes an empty gate", []in{{0, "cp"}}, nil, []string{"cp"}, 0},
		{"an invisible change is held", []in{{5, "a"}}, nil, nil, 1},
		{"a checkpoint queues behind it", []in{{5, "a"}, {0, "cp"}}, nil, nil, 2},
		{"and follows it", []in{{5, "a"}, {0, "cp"}}, []uint64{5}, []string{"a", "cp"}, 0},
		{"a visible change queues behind an invisible one", []in{{5, "a"}, {6, "b"}}, []uint64{6}, nil, 2},
		{"in front of it, it does not", []in{{6, "b"}, {0, "cp"}, {5, "a"}, {0, "cp2"}}, []uint64{6}, []string{"b", "cp"}, 2},
		{"ids need not rise", []in{{9, "a"}, {3, "b"}}, []uint64{9, 3}, []string{"a", "b"}, 0},
		{"the highest id is no special one", []in{{1<<64 - 1, "a"}}, nil, nil, 1},
	}
	for _, use := range []Use{Relay, Node} {
		for _, c := range cases {
			g := New[string](use, 10)
			for _, i := range c.in {
				if err := g.Add(i.tx, i.item); err != nil {
					t.Fatal(err)
				}
			}
			if got := released(g, only(c.visible...)); !slices.Equal(got, c.want) || g.Len() != c.left {
				t.Errorf("%s: released %q and held %d, want %q and %d", c.name, got, g.Len(), c.want, c.left)
			}
		}
	}
}

func TestNeighboursOfOneTransactionAreAskedOnce(t *testing.T) {
	g := New[int](Relay, 10)
	for i, tx := range []uint64{7, 7, 7, 8, 7} {
		if err := g.Add(tx, i); err != nil {
			t.Fatal(err)
		}
	}
	var asked []uint64
	got := released(g, func(tx uint64) bool { asked = append(asked, tx); return true })
	if !slices.Equal(asked, []uint64{7, 8, 7}) || len(got) != 5 {
		t.Errorf("asked for %v, released %v", asked, got)
	}
}

func TestFull(t *testing.T) {
	g := New[int](Node, 2)
	for i, want := range []error{nil, nil, ErrFull} {
		if err := g.Add(1, i); !errors.Is(err, want) {
			t.Errorf("item %d: %v, want %v", i, err, want)
		}
	}
	if got := released(g, only(1)); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("released %v", got)
	}
	if err := g.Add(1, 2); err != nil {
		t.Errorf("after the release: %v", err)
	}
}

func TestLoopMayEndEarly(t *testing.T) {
	g := New[int](Node, 5)
	for i := range 3 {
		if err := g.Add(1, i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range g.Release(only(1)) {
		if i == 0 {
			break
		}
	}
	if got := released(g, only(1)); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("the rest is %v", got)
	}
}

// Twin: whatever becomes visible when, what comes out is what went in, in
// order, and nothing of a transaction that was not visible.
func TestTwin(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		g := New[int](Relay, 8)
		var txs []uint64 // of item i
		shown := map[uint64]bool{}
		out := 0
		for range 300 {
			switch rng.IntN(4) {
			case 0, 1:
				tx := uint64(rng.IntN(6))
				err := g.Add(tx, len(txs))
				if full := len(txs)-out == 8; full != (err != nil) {
					t.Fatalf("seed %d: %d held, Add says %v", seed, len(txs)-out, err)
				}
				if err == nil {
					txs = append(txs, tx)
				}
			case 2:
				shown[uint64(1+rng.IntN(5))] = rng.IntN(3) > 0
			case 3:
				for item := range g.Release(func(tx uint64) bool { return shown[tx] }) {
					if item != out || txs[item] != 0 && !shown[txs[item]] {
						t.Fatalf("seed %d: item %d of transaction %d came out as number %d", seed, item, txs[item], out)
					}
					out++
				}
				if out < len(txs) && (txs[out] == 0 || shown[txs[out]]) {
					t.Fatalf("seed %d: item %d was held", seed, out)
				}
			}
		}
	}
}
