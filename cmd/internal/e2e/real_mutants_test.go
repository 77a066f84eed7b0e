//go:build mutants

package e2e

import (
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// Without the gate the same story breaks the promise, one way or the other.
// Where the event brings the row, it is answered before anybody can read it.
// Where it only drops the entry, the next fill reads the old row, the watermark
// passes the event, and lifts the old row for ever.
func TestRealEarlyEventWithoutGate(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		hook.Set(hook.NoRelayGate)
		defer hook.Set(hook.None)
		if early, _ := earlyEvent(t, v, "full"); !early {
			t.Error("without the gate, and no answer came early: this test sees nothing")
		}
		if _, late := earlyEvent(t, v, "none"); late <= 2*gateBound {
			t.Errorf("without the gate the change was seen after %v: this test sees nothing", late)
		}
	})
}
