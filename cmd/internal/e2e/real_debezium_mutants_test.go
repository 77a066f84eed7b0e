//go:build mutants

package e2e

import (
	"testing"

	"github.com/freshet-cache/freshet/proxy/hook"
)

// Without the node's gate the event drops the entry, the next fill reads the
// old row, the watermark passes the event, and lifts the old row for ever.
func TestRealDebeziumEarlyEventWithoutGate(t *testing.T) {
	hook.Set(hook.NoNodeGate)
	defer hook.Set(hook.None)
	if late := earlyDebezium(t); late <= 2*gateBound {
		t.Errorf("without the gate the change was seen after %v: this test sees nothing", late)
	}
}
