package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func putAndDelete(h *harness) {
	results := h.apply(h.put("blobs:a", "v", "one"), h.put("blobs:b", "v", ""), h.put("blobs:a", "v", "two\x00"))
	for i, r := range results {
		if r.Err != nil {
			h.Fatalf("put %d: %v", i, r.Err)
		}
	}
	loaded := h.load("blobs:a", "blobs:b", "blobs:c")
	h.want("a", h.column(loaded[0], "v"), "two\x00")
	h.want("b", h.column(loaded[1], "v"), "")
	h.want("c", h.column(loaded[2], "v"), "-")
	results = h.apply(proxy.Write{Key: h.key("blobs:a"), Op: proxy.Delete}, proxy.Write{Key: h.key("blobs:c"), Op: proxy.Delete})
	h.want("a existed", results[0], proxy.Written{Done: true})
	h.want("c did not", results[1], proxy.Written{})
	h.want("a", h.load("blobs:a")[0].Row.Exists(), false)
}

// partialPut writes one column of a row that is there: what the others would be
// in a new row, and whether that row could be, does not matter.
func partialPut(h *harness) {
	h.Exec(`INSERT INTO items (id, name, n) VALUES (1, 'one', 1), (2, '', 2)`) // '' is the default of name, which is unique
	for i, r := range h.apply(h.put("items:1", "n", "11"), h.put("items:2", "n", "22")) {
		if r.Err != nil {
			h.Errorf("write %d: %v", i, r.Err)
		}
	}
	loaded := h.load("items:1", "items:2")
	h.want("row 1", h.json(loaded[0]), `{"id":1,"name":"one","n":11}`)
	h.want("row 2", h.json(loaded[1]), `{"id":2,"name":"","n":22}`)
}

func readOnly(h *harness) {
	h.apply(h.put("blobs:a", "v", "\x01"))
	results := h.apply(h.put("frozen:a", "v", "x"), proxy.Write{Key: h.key("frozen:a"), Op: proxy.Delete}, h.put("blobs:b", "v", "x"))
	for i, want := range []error{proxy.ErrReadOnly, proxy.ErrReadOnly, nil} {
		if !errors.Is(results[i].Err, want) {
			h.Errorf("write %d: got %v, want %v", i, results[i].Err, want)
		}
	}
	h.want("a", h.column(h.load("blobs:a")[0], "v"), "\x01")
}

func failingWrite(h *harness) {
	h.Exec(`INSERT INTO items (id, name, n) VALUES (1, 'taken', 1), (2, 'two', 2)`)
	results := h.apply(
		h.put("items:1", "n", "11"),
		h.put("items:2", "name", "taken"), // the name is unique
		h.put("items:2", "n", "not a number"),
		h.put("items:2", "nosuch", "1"),
		proxy.Write{Key: h.key("items:2"), Op: proxy.Put, Fields: []row.Field{{Name: "name", Kind: row.Null}}},
		h.put("items:2", "n", "22"),
	)
	for i, r := range results {
		var rejected *proxy.RejectedError
		if fails := i > 0 && i < 5; fails != errors.As(r.Err, &rejected) {
			h.Errorf("write %d: got %v", i, r.Err)
		}
	}
	loaded := h.load("items:1", "items:2")
	h.want("row 1", h.json(loaded[0]), `{"id":1,"name":"taken","n":11}`)
	h.want("row 2", h.json(loaded[1]), `{"id":2,"name":"two","n":22}`)
}

func contextEnd(h *harness) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	loaded := make([]proxy.Result, 1)
	h.Source.Load(ctx, []proxy.Request{{Key: h.key("items:1")}}, loaded)
	if !errors.Is(loaded[0].Err, proxy.ErrUnavailable) || !errors.Is(loaded[0].Err, context.Canceled) {
		h.Errorf("load: got %v", loaded[0].Err)
	}
	written := make([]proxy.Written, 1)
	h.Source.Apply(ctx, []proxy.Write{h.put("blobs:a", "v", "x")}, written)
	if written[0].Err != nil && !errors.Is(written[0].Err, context.Canceled) {
		h.Errorf("apply: got %v", written[0].Err)
	}
	// What is said of the write must be true, and others go on.
	exists := h.load("blobs:a")[0].Row.Exists()
	if errors.Is(written[0].Err, proxy.ErrUnavailable) && exists {
		h.Errorf("a write that was not carried out is there")
	}
	if written[0].Err == nil && !exists {
		h.Errorf("a write that was carried out is not there")
	}
}

func concurrentUse(h *harness) {
	const workers, rounds = 8, 20
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				key := fmt.Sprintf("blobs:%d", w)
				want := fmt.Sprintf("%d of %d", i, w)
				written := make([]proxy.Written, 1)
				h.Source.Apply(context.Background(), []proxy.Write{h.put(key, "v", want)}, written)
				if written[0].Err != nil {
					h.Errorf("put %s: %v", key, written[0].Err)
					return
				}
				loaded := make([]proxy.Result, 2)
				h.Source.Load(context.Background(), []proxy.Request{{Key: h.key(key)}, {Key: h.key("items:1")}}, loaded)
				if loaded[0].Err != nil {
					h.Errorf("load %s: %v", key, loaded[0].Err)
					return
				}
				if got := h.column(loaded[0], "v"); got != want {
					h.Errorf("%s: read %q after %q was written", key, got, want)
				}
			}
		})
	}
	wg.Wait()
}
