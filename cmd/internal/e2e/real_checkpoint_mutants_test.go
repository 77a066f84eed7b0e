//go:build mutants

package e2e

import (
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// A snapshot's list of running transactions leaves one out, and a read that
// does not see it passes.
func TestRealHorizonFromList(t *testing.T) {
	eachVersion(t, func(t *testing.T, v stack.Version) {
		hook.Set(hook.BarrierFromList)
		defer hook.Set(hook.None)
		if !barrier(t, stacktest.Postgres(t, v)) {
			t.Error("the mutant does no harm: this test sees nothing")
		}
	})
}
