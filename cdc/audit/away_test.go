package audit

import (
	"errors"
	"strconv"
	"testing"
	"time"
)

// A source that is away for an hour, under changes all the while: nothing is
// said of what could not be looked at but that it was late, no more waits than
// there is room for, and afterwards all is as it was.
func TestAnHourWithoutTheSource(t *testing.T) {
	const perSecond = 10
	audited(t, Options{ReadsPerSecond: 20}, func(w *world) {
		w.locked(func() { w.err, w.any = errors.New("away"), "users:1" })
		n := 0
		for range 60 * 60 {
			for range perSecond {
				n++
				key := strconv.Itoa(n)
				w.hold("users:"+key, "old", 1, 0) // the stream stands, too
				w.locked(func() {
					w.rows["users:"+key] = "new"
					delete(w.held, "users:"+strconv.Itoa(n-3*perSecond)) // it is older than the bound
				})
				w.change(key)
			}
			w.pass(time.Second)
		}
		if len(w.pending) > maxPending || len(w.suspects) > maxSuspects {
			t.Errorf("%d changes wait, %d are suspected", len(w.pending), len(w.suspects))
		}
		if got := w.counts("looks"); got == "" || w.counts("dropped") != "" {
			t.Errorf("looks: %q, dropped: %q", got, w.counts("dropped"))
		}
		w.locked(func() { w.err = nil })
		w.pass(15 * time.Minute)
		if len(w.pending)+len(w.suspects) > 0 || w.counts("violations") != "" {
			t.Errorf("%d wait, %d are suspected, violations: %q", len(w.pending), len(w.suspects), w.counts("violations"))
		}
		w.wantAll(t, "10m", n)
		if got := w.counts("followed_ratio"); got != "1" {
			t.Errorf("%s of the changes are followed", got)
		}
	})
}
