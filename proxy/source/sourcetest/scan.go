package sourcetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
)

// scan lists all keys of a use case, page by page. between runs between two
// pages.
func (h *harness) scan(useCase string, count int, between func(page int)) []string {
	h.Helper()
	s, ok := h.Source.(proxy.Scanner)
	if !ok {
		h.Skip("this source cannot list keys")
	}
	var all []string
	var after []byte
	for page := 0; ; page++ {
		keys, err := s.Scan(context.Background(), h.Catalog.Named(useCase), after, count)
		if err != nil {
			h.Fatalf("scan behind %q: %v", after, err)
		}
		if len(keys) == 0 {
			return all
		}
		if len(keys) > count {
			h.Fatalf("%d keys where %d were asked for", len(keys), count)
		}
		for _, k := range keys {
			all = append(all, string(k))
		}
		after = keys[len(keys)-1]
		between(page)
	}
}

func scans(h *harness) {
	quiet := func(int) {}
	h.want("keys of an empty table", h.scan(Items, 10, quiet), []string{})
	h.Exec(`INSERT INTO items (id, name, n) VALUES (-5, 'b', 1), (3, 'a', 2), (20, ':%', 3), (100, '', 4)`)
	h.Exec(`INSERT INTO pairs (a, b, v) VALUES ('x', 1, ''), ('x', 2, ''), ('y', 1, ''), ('w', 2, '')`)
	for use, want := range map[string]string{
		Items:  "items:-5 items:100 items:20 items:3",
		ByName: "byname: byname:%3A%25 byname:a byname:b",
		Pairs:  "pairs:w:2 pairs:x:1 pairs:x:2 pairs:y:1",
		Blobs:  "",
	} {
		for count := 1; count < 6; count++ {
			keys := h.scan(use, count, quiet)
			slices.Sort(keys)
			h.want(fmt.Sprintf("%s by %d", use, count), strings.Join(keys, " "), want)
			for _, k := range keys {
				if !h.load(k)[0].Row.Exists() {
					h.Errorf("key %q is listed and names no row", k)
				}
			}
		}
	}
}

// scanWhileRowsChange: a row that is there all the time is listed once,
// whatever comes and goes beside it, the last of a page included.
func scanWhileRowsChange(h *harness) {
	for i := range 40 {
		h.Exec(fmt.Sprintf(`INSERT INTO items (id, name, n) VALUES (%d, 'name %02d', 0)`, i*10, i))
	}
	all := h.scan(Items, 3, func(page int) {
		if page >= 13 { // or rows came as fast as they are listed
			return
		}
		h.Exec(fmt.Sprintf(`DELETE FROM items WHERE id = %d`, page*30+20)) // the last of this page
		h.Exec(fmt.Sprintf(`INSERT INTO items (id, name, n) VALUES (%d, 'new %d', 0)`, page*30+5, page))
	})
	seen := map[string]int{}
	for _, k := range all {
		seen[k]++
	}
	for i := range 40 {
		if i%3 == 2 {
			continue
		}
		h.want(fmt.Sprintf("times row %d is listed", i*10), seen[fmt.Sprintf("items:%d", i*10)], 1)
	}
}
