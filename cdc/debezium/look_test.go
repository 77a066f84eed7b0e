package debezium

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/cdc/gate"
	"github.com/freshet-cache/freshet/proxy"
)

// A table changes again after more than 2³¹ transactions of others. By the last
// snapshot, which was taken for its change before, the 32 bits of this one would
// stand for a transaction that has ended long ago.
func TestSnapshotIsTooOldToWiden(t *testing.T) {
	play(t, 1, setup{}, func(w *world) {
		w.attach()
		w.must(time.Second)
		w.write(1)
		w.must(time.Second)
		time.Sleep(time.Hour)
		w.mu.Lock()
		w.next += 3 << 30
		w.mu.Unlock()
		xid := w.begin()
		w.log(xid, 1, now())
		w.must(3 * time.Second)
		w.show(xid, 1)
		w.must(4 * time.Second)
	})
}

// A machine that slept may have missed as many.
func TestSnapshotAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &look{of: proxy.Identity{System: 1}, shown: gate.Snapshot{Min: 1 << 33, Max: 1 << 33}, at: time.Now().Round(0)}
		old := uint64(1<<33 - 5)
		if !s.shows(old) {
			t.Error("a new one does not show what has ended")
		}
		time.Sleep(shownFor)
		if s.shows(old) {
			t.Error("an old one is asked")
		}
		if s.at = time.Now().Round(0).Add(time.Second); s.shows(old) {
			t.Error("one is asked of which nobody knows how old it is")
		}
	})
}
