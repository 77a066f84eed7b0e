//go:build mutants

package e2e

import (
	"testing"

	"github.com/freshet-cache/freshet/proxy/hook"
)

// Without the node's gate the event drops the entry, the next fill reads the
// old row, and nothing ever tells of it again: the watermark passes the event,
// and lifts the old row for ever.
func TestRealDebeziumEarlyEventWithoutGate(t *testing.T) {
	hook.Set(hook.NoNodeGate)
	defer hook.Set(hook.None)
	if _, followed := earlyDebezium(t, 4*gateBound); followed {
		t.Error("without the gate, and the entry is fresh: this test sees nothing")
	}
}
