package cache

import (
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// A look says what a read would find, and neither fills nor counts.
func TestPeek(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Second, NoRefresh: true})
	key := w.key(t, "users:1")
	want := func(holding proxy.Holding, v string) proxy.Held {
		t.Helper()
		hits, calls := w.metrics.hits[0].sum(), w.source.calls.Load()
		held := w.Peek(key)
		if held.Holding != holding || text(held.Row) != v {
			t.Errorf("got %d, %q; want %d, %q", held.Holding, text(held.Row), holding, v)
		}
		if w.metrics.hits[0].sum() != hits || w.source.calls.Load() != calls {
			t.Error("a look is taken for a read")
		}
		return held
	}
	want(proxy.Absent, "<none>")
	w.source.set("users:1", "a")
	w.read(t, "users:1", proxy.Freshness{})
	first := want(proxy.Served, "a")
	if first.AsOf != w.clock.now() || first.Hash != hashOf(key.Text) || first.Pinned {
		t.Errorf("got %+v", first)
	}
	w.clock.advance(1500 * time.Millisecond)
	want(proxy.Aged, "a")
	w.stream.reach(w.clock.now())
	if lifted := want(proxy.Served, "a"); lifted.Entry != first.Entry || lifted.AsOf != w.clock.now() {
		t.Errorf("lifted, it is another: %+v, then %+v", first, lifted)
	}
	w.Change(key, &proxy.Image{Row: value("b"), Position: proxy.Position{Commit: 99}, Commit: w.clock.now()})
	if replaced := want(proxy.Served, "b"); replaced.Entry == first.Entry {
		t.Error("replaced, it is the same entry")
	}
	w.Change(key, nil)
	want(proxy.Void, "b")
	w.source.set("users:1", "")
	w.read(t, "users:1", proxy.Freshness{})
	absence := want(proxy.Served, "<none>")
	w.clock.advance(time.Millisecond)
	w.read(t, "users:1", proxy.Freshness{Strong: true})
	if again := want(proxy.Served, "<none>"); again.Entry == absence.Entry {
		t.Error("filled again, it is the same entry")
	}
	w.Void(w.users)
	want(proxy.Void, "<none>")
}

// A key's valid absence counts, though a void row is still in memory.
func TestPeekPrefersWhatIsValid(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Hour, NoRefresh: true})
	key := w.key(t, "users:1")
	w.read(t, "users:1", proxy.Freshness{}) // an absence
	w.cases[0].rows.Put(hashOf(key.Text), &entry{key: "users:1", row: value("old"), epoch: 99}, 1)
	if held := w.Peek(key); held.Holding != proxy.Served || held.Row.Exists() {
		t.Errorf("got %+v", held)
	}
}

// Keys that are picked are held, and whole.
func TestAny(t *testing.T) {
	w := newWorld(t, UseCase{Bound: time.Hour, NoRefresh: true})
	if key, ok := w.Any(1); ok {
		t.Errorf("an empty cache has %s", key.Text)
	}
	w.source.set("users:1", "a")
	w.read(t, "users:1", proxy.Freshness{})
	w.read(t, "users:2", proxy.Freshness{})
	got := map[string]bool{}
	for i := range uint64(1 << 12) {
		if key, ok := w.Any(i); ok {
			got[string(key.Text)] = key.UseCase == w.users
		}
	}
	if !got["users:1"] || !got["users:2"] || len(got) != 2 {
		t.Errorf("got %v", got)
	}
	w.cases[0].rows.Drop(hashOf([]byte("users:1")))
	w.absences.Drop(hashOf([]byte("users:2")))
	for i := range uint64(1 << 12) {
		if key, ok := w.Any(i); ok {
			t.Fatalf("%s is not held any more", key.Text)
		}
	}
}
