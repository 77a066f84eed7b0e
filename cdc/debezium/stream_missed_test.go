package debezium

import (
	"fmt"
	"testing"
	"time"
)

// The connector has lost its slot, and reads all tables into the topic when it
// comes back. It was away, so no heartbeat was carried out, and none is missing.
// What was deleted meanwhile is in no record; and what the snapshot has read may
// be visible to others only later.
func TestSnapshotIsAGap(t *testing.T) {
	const read = `{"op":"r","before":null,"after":{"id":%d,"seq":%d,"t":%d,"system":1,"timeline":1,"started":7,"slot":"s","fingerprint":"p1"},"source":{"connector":"postgresql","schema":"public","table":"freshet_checkpoint","txId":9,"snapshot":"true"}}`
	play(t, 2, setup{}, func(w *world) {
		w.attach()
		if hits := w.lifted(4 * time.Second); hits < 100 {
			t.Errorf("before, %d hits", hits)
		}
		w.show(w.begin(), 1) // it is never told of
		late := w.begin()    // nor this, when it is visible
		for p := range w.topic {
			w.ship(p, fmt.Sprintf(`{"id":%d}`, 2*p), fmt.Sprintf(read, 2*p, w.seq, now()))
		}
		w.must(4 * time.Second)
		w.show(late, 1)
		w.must(4 * time.Second)
		if hits := w.lifted(2 * time.Second); hits < 100 {
			t.Errorf("afterwards, %d hits", hits)
		}
		if n := w.applier.Status().Gaps; n != 2 {
			t.Errorf("%d gaps in two partitions", n)
		}
	})
}

// One table is read anew, as somebody has asked for: what is read of it then is
// pinned until all can be seen that the snapshot has seen.
func TestSnapshotOfATablePins(t *testing.T) {
	play(t, 1, setup{}, func(w *world) {
		w.attach()
		w.must(2 * time.Second)
		late := w.begin()
		w.ship(0, `{"id":1}`, `{"op":"r","before":null,"after":{"id":1,"v":"1"},"source":{"connector":"postgresql","schema":"public","table":"users","txId":9,"snapshot":"last"}}`)
		w.must(4 * time.Second)
		w.show(late, 1)
		w.must(4 * time.Second)
	})
}

// A table comes to be shipped while a transaction goes on that has written to
// it. That is not shipped, and only the fingerprint says that anything was.
func TestTableJoinsWhileATransactionGoesOn(t *testing.T) {
	play(t, 2, setup{}, func(w *world) {
		w.attach()
		w.must(2 * time.Second)
		xid := w.begin()
		w.mu.Lock()
		w.print = "p2"
		w.mu.Unlock()
		w.must(4 * time.Second)
		w.show(xid, 1)
		w.must(4 * time.Second)
		if hits := w.lifted(2 * time.Second); hits < 100 {
			t.Errorf("afterwards, %d hits", hits)
		}
	})
}
