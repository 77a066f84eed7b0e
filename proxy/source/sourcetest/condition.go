package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/freshet-cache/freshet/proxy"
)

func conditions(h *harness) {
	h.Exec(`INSERT INTO items (id, name, n) VALUES (1, 'one', 1)`)
	when := func(w proxy.Write, c proxy.Condition) proxy.Write {
		w.If = c
		return w
	}
	results := h.apply(
		when(h.put("items:1", "n", "11"), proxy.IfAbsent),
		when(h.put("items:2", "name", "two"), proxy.IfAbsent),
		when(h.put("items:1", "n", "12"), proxy.IfPresent),
		when(h.put("items:3", "name", "three"), proxy.IfPresent),
		when(h.put("byname:one", "id", "9"), proxy.IfAbsent), // would not be allowed either
		when(h.put("items:4", "name", "one"), proxy.IfAbsent),
	)
	for i, done := range []bool{false, true, true, false, false, false} {
		h.want(fmt.Sprintf("write %d is done", i), results[i].Done, done)
		h.want(fmt.Sprintf("write %d is refused", i), results[i].Err != nil, i == 5)
	}
	loaded := h.load("items:1", "items:2", "items:3", "items:4")
	h.want("row 1", h.json(loaded[0]), `{"id":1,"name":"one","n":12}`)
	h.want("row 2", h.json(loaded[1]), `{"id":2,"name":"two","n":null}`)
	h.want("row 3", loaded[2].Row.Exists(), false)
	h.want("row 4", loaded[3].Row.Exists(), false)
}

// oneWinner: of several that ask at once for what is not there, one makes it.
func oneWinner(h *harness) {
	const workers, rounds = 8, 10
	for round := range rounds {
		var won atomic.Int32
		var wg sync.WaitGroup
		for w := range workers {
			write := h.put(fmt.Sprintf("blobs:%d", round), "v", fmt.Sprint(w))
			write.If, write.Old = proxy.IfAbsent, true
			wg.Go(func() {
				results := make([]proxy.Written, 1)
				h.Source.Apply(context.Background(), []proxy.Write{write}, results)
				switch r := results[0]; {
				case r.Err != nil:
					h.Errorf("round %d: %v", round, r.Err)
				case r.Done:
					won.Add(1)
				case !r.Old.Exists():
					h.Errorf("round %d: neither done nor shown what was in the way", round)
				}
			})
		}
		wg.Wait()
		h.want(fmt.Sprintf("winners of round %d", round), won.Load(), 1)
	}
}

// putOfNothing is about whether there is a row, and asks no more of one that is
// there.
func putOfNothing(h *harness) {
	h.Exec(`INSERT INTO items (id, name, n) VALUES (1, '', 1)`) // '' is the default of name, which is unique
	nothing := func(key string, c proxy.Condition) proxy.Write {
		return proxy.Write{Key: h.key(key), Op: proxy.Put, If: c}
	}
	results := h.apply(nothing("items:1", proxy.Always), nothing("items:1", proxy.IfPresent), nothing("items:1", proxy.IfAbsent),
		nothing("items:2", proxy.Always), nothing("items:2", proxy.IfPresent), nothing("blobs:a", proxy.Always), nothing("blobs:b", proxy.IfAbsent))
	for i, done := range []bool{true, true, false, false, false, true, true} {
		h.want(fmt.Sprintf("write %d is done", i), results[i].Done, done)
		h.want(fmt.Sprintf("write %d is refused", i), results[i].Err != nil, i == 3)
	}
	h.want("row 1", h.json(h.load("items:1")[0]), `{"id":1,"name":"","n":1}`)
	h.want("a is there", h.load("blobs:a")[0].Row.Exists(), true)
}

func oldRows(h *harness) {
	h.Exec(`INSERT INTO items (id, name, n) VALUES (1, 'one', 1)`)
	show := func(w proxy.Write) proxy.Write {
		w.Old = true
		return w
	}
	results := h.apply(
		show(h.put("items:1", "n", "2")),
		show(h.put("items:1", "n", "3")), // finds what the one before it wrote
		show(h.put("items:2", "name", "two")),
		show(proxy.Write{Key: h.key("byname:one"), Op: proxy.Delete}),
		show(proxy.Write{Key: h.key("items:1"), Op: proxy.Delete}),
		h.put("items:2", "n", "5"),
	)
	for i, want := range []string{`{"id":1,"name":"one","n":1}`, `{"id":1,"name":"one","n":2}`, "", `{"id":1,"name":"one","n":3}`, "", ""} {
		got := ""
		if results[i].Old.Exists() {
			got = h.json(proxy.Result{Row: results[i].Old})
		}
		h.want(fmt.Sprintf("row before write %d", i), got, want)
		h.want(fmt.Sprintf("write %d is done", i), results[i].Done, i != 4)
		h.want(fmt.Sprintf("error of write %d", i), results[i].Err, nil)
	}
}

// swaps: each value that was put is found by exactly one write, or is the last.
func swaps(h *harness) {
	const workers, rounds = 4, 25
	var mu sync.Mutex
	found := map[string]int{}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				write := h.put("blobs:a", "v", fmt.Sprintf("%d of %d", i, w))
				write.Old = true
				results := make([]proxy.Written, 1)
				h.Source.Apply(context.Background(), []proxy.Write{write}, results)
				if results[0].Err != nil {
					h.Errorf("swap: %v", results[0].Err)
					return
				}
				mu.Lock()
				found[h.column(proxy.Result{Row: results[0].Old}, "v")]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	found[h.column(h.load("blobs:a")[0], "v")]++
	h.want("values that were found", len(found), workers*rounds+1)
	for v, n := range found {
		if n != 1 {
			h.Errorf("%q was found %d times", v, n)
		}
	}
}

func joinedWrites(h *harness) {
	h.Exec(`INSERT INTO items (id, name, n) VALUES (1, 'one', 1)`)
	joined := func(w proxy.Write) proxy.Write {
		w.Joined = true
		return w
	}
	absent := joined(h.put("items:1", "n", "100"))
	absent.If = proxy.IfAbsent
	results := h.apply(
		h.put("blobs:a", "v", "a"), // alone
		h.put("blobs:b", "v", "b"), // fails with the next
		joined(h.put("items:2", "name", "one")),
		joined(h.put("blobs:c", "v", "c")),
		h.put("blobs:d", "v", "d"), // a condition that does not hold
		absent,
		joined(proxy.Write{Key: h.key("items:1"), Op: proxy.Delete}),
		h.put("blobs:e", "v", "e"), // cannot even be tried
		joined(h.put("frozen:f", "v", "f")),
	)
	var rejected *proxy.RejectedError
	for i, r := range results {
		switch fails := i >= 1 && i <= 3 || i >= 7; {
		case i >= 7 && !errors.Is(r.Err, proxy.ErrReadOnly), fails && i < 7 && !errors.As(r.Err, &rejected), !fails && r.Err != nil:
			h.Errorf("write %d: got %v", i, r.Err)
		case r.Done != (!fails && i != 5):
			h.Errorf("write %d: done %v", i, r.Done)
		}
	}
	var there []bool
	for _, r := range h.load("blobs:a", "blobs:b", "items:2", "blobs:c", "blobs:d", "items:1", "blobs:e", "blobs:f") {
		there = append(there, r.Row.Exists())
	}
	h.want("rows", there, []bool{true, false, false, false, true, false, false, false})
}

// joinedAreSeenTogether: no read sees one of two joined writes without the
// other.
func joinedAreSeenTogether(h *harness) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 {
			a, b := h.put("blobs:a", "v", fmt.Sprint(i)), h.put("blobs:b", "v", fmt.Sprint(i))
			b.Joined = true
			if r := h.apply(a, b); r[0].Err != nil || r[1].Err != nil {
				h.Errorf("write: %v, %v", r[0].Err, r[1].Err)
				return
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		results := h.load("blobs:a", "blobs:b")
		if a, b := h.column(results[0], "v"), h.column(results[1], "v"); a != b {
			h.Fatalf("a read saw %s and %s", a, b)
		}
	}
}
