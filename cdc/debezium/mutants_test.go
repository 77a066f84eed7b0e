//go:build mutants

package debezium

import (
	"errors"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy/hook"
)

// Without the gate a change is applied before it can be read, and the old row
// comes back for good.
func TestMutantWithoutGate(t *testing.T) {
	hook.Set(hook.NoNodeGate)
	defer hook.Set(hook.None)
	play(t, 1, setup{}, func(w *world) {
		w.attach()
		w.must(3 * time.Second)
		xid := w.begin()
		w.log(xid, 1, now())
		w.must(2 * time.Second)
		w.show(xid, 1)
		if err := w.run(4 * time.Second); !errors.Is(err, errOld) {
			t.Errorf("got %v, want an answer that is too old", err)
		}
	})
}
