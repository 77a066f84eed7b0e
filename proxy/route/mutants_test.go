//go:build mutants

package route

import (
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/proxy/hook"
)

func TestForgottenFloorIsCaught(t *testing.T) {
	hook.Set(hook.FloorForgotten)
	defer hook.Set(hook.None)
	for seed := range uint64(20) {
		if w := live(t, seed); w.failure != "" {
			if !strings.Contains(w.failure, "older than what the read must see") {
				t.Errorf("seed %d: %s", seed, w.failure)
			}
			return
		}
	}
	t.Error("not caught in 20 tiers")
}
