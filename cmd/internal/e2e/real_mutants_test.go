//go:build mutants

package e2e

import (
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// Without the gate the same story breaks the promise: the event drops the
// entry, the next fill reads the old row, and the watermark lifts it for ever.
func TestRealEarlyEventWithoutGate(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		hook.Set(hook.NoRelayGate)
		defer hook.Set(hook.None)
		if late := earlyEvent(t, v); late <= 2*gateBound {
			t.Errorf("without the gate the change was seen after %v: this test sees nothing", late)
		}
	})
}
