package sourcetest

import (
	"fmt"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
)

func orderAndDuplicates(h *harness) {
	h.Exec(`INSERT INTO items (id, name, n) VALUES (1, 'one', 10), (2, 'two', 20), (3, 'three', 30)`)
	var got []string
	for _, r := range h.load("items:3", "items:1", "items:3", "byname:two", "items:1", "items:2") {
		got = append(got, h.column(r, "n"))
	}
	h.want("columns n", got, []string{"30", "10", "30", "20", "10", "20"})
}

func absentRows(h *harness) {
	h.Exec(`INSERT INTO items (id, name, n) VALUES (2, 'two', 20)`)
	results := h.load("items:1", "items:2", "items:3", "byname:none", "pairs:a:1")
	var got []bool
	for _, r := range results {
		got = append(got, r.Row.Exists())
	}
	h.want("rows", got, []bool{false, true, false, false, false})
}

func manyKeys(h *harness) {
	const n = 1000
	var values, keys []string
	for i := range n {
		if i%3 != 0 {
			values = append(values, fmt.Sprintf("(%d, 'name %d', %d)", i, i, i*7))
		}
		keys = append(keys, fmt.Sprintf("items:%d", n-1-i))
	}
	h.Exec(`INSERT INTO items (id, name, n) VALUES ` + strings.Join(values, ", "))
	for i, r := range h.load(keys...) {
		id := n - 1 - i
		want := "-"
		if id%3 != 0 {
			want = fmt.Sprint(id * 7)
		}
		if got := h.column(r, "n"); got != want {
			h.Fatalf("%s: got %s, want %s", keys[i], got, want)
		}
	}
}

func compositeKeys(h *harness) {
	h.Exec(`INSERT INTO pairs (a, b, v) VALUES ('x', 1, 'x1'), ('x', 2, 'x2'), ('1', 1, '11'), ('a:b%', 3, 'odd')`)
	var got []string
	for _, r := range h.load("pairs:x:2", "pairs:x:1", "pairs:1:1", "pairs:a%3Ab%25:3", "pairs:y:1") {
		got = append(got, h.column(r, "v"))
	}
	h.want("columns v", got, []string{"x2", "x1", "11", "odd", "-"})
}

// keySpellings: one row has one key, and what is no key's spelling is refused
// before the source is asked.
func keySpellings(h *harness) {
	h.Exec(`INSERT INTO items (id, name, n) VALUES (1, 'A', 1), (-7, 'a', 2), (9223372036854775807, ' a', 3)`)
	h.apply(h.put("blobs:", "v", "\x00"), h.put("blobs:0x", "v", "\x01"))
	var got []string
	for _, r := range h.load("items:1", "items:-7", "items:9223372036854775807", "byname:A", "byname:a", "byname: a", "byname:a ", "byname:1") {
		got = append(got, h.column(r, "n"))
	}
	h.want("columns n", got, []string{"1", "2", "3", "1", "2", "3", "-", "-"})
	h.want("the empty text", h.column(h.load("blobs:")[0], "v"), "\x00")
	for _, text := range []string{"items:01", "items:+1", "items:1.0", "items: 1", "items:", "items:a", "items:-0", "items:9223372036854775808",
		"items:1:2", "pairs:x", "byname:%41", "byname:a%3a"} {
		if _, err := h.Catalog.Key([]byte(text)); err == nil {
			h.Errorf("key %q is accepted", text)
		}
	}
}

func values(h *harness) {
	h.Exec("INSERT INTO items (id, name, n) VALUES (1, 'ünï \"q\" \n', NULL), (2, '', -5)")
	results := h.load("items:1", "items:2")
	h.want("row 1", h.json(results[0]), `{"id":1,"name":"ünï \"q\" \u000a","n":null}`)
	h.want("row 2", h.json(results[1]), `{"id":2,"name":"","n":-5}`)
}

// positions: a later answer has no earlier position, and one after a change
// has a greater one.
func positions(h *harness) {
	if !h.Followed {
		h.Skip("this source is not followed")
	}
	before := h.load("items:1")[0]
	h.Exec(`INSERT INTO items (id, name, n) VALUES (1, 'one', 1)`)
	results := h.load("items:1", "items:2")
	h.want("position after a change", results[0].Position.Compare(before.Position), 1)
	h.want("positions of one call", results[0].Position.Compare(results[1].Position), 0)
	h.want("identities", results[0].Primary, before.Primary)
	h.want("the identity is known", results[0].Primary.Known(), true)
	h.Exec(`DELETE FROM items WHERE id = 1`)
	after := h.load("items:1")[0]
	h.want("position after the delete", after.Position.Compare(results[0].Position), 1)
	h.want("the row is gone", after.Row.Exists(), false)
	h.want("position without a change", h.load("items:1")[0].Position.Compare(after.Position) >= 0, true)
}

// oneSnapshot moves one unit between rows, over and over: a call that mixed
// two snapshots would see a sum that never was.
func oneSnapshot(h *harness) {
	h.Exec(`INSERT INTO items (id, name, n) VALUES (1, 'one', 50), (2, 'two', 50)`)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 {
			h.Exec(fmt.Sprintf(`UPDATE items SET n = n + CASE id WHEN 1 THEN %d ELSE %d END WHERE id IN (1, 2)`, 1-2*(i%2), 2*(i%2)-1))
		}
	}()
	last := proxy.Position{}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		results := h.load("items:1", "byname:two")
		var a, b int
		fmt.Sscan(h.column(results[0], "n"), &a)
		fmt.Sscan(h.column(results[1], "n"), &b)
		if a+b != 100 {
			h.Fatalf("a call saw %d and %d", a, b)
		}
		if results[0].Position.Compare(last) < 0 {
			h.Fatalf("position %v after %v", results[0].Position, last)
		}
		last = results[0].Position
	}
}
