//go:build mutants

package part

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/proxy/hook"
)

// Mutants are those that a run of this deployment can tell from the product,
// by the names that --mutant takes. "none" is the product with its points
// disturbed as they are with a mutant.
func Mutants() map[string]hook.M {
	return map[string]hook.M{
		"none":                  hook.None,
		"install-unchecked":     hook.InstallUnchecked,
		"watermark-after-stamp": hook.WatermarkAfterStamp,
		"join-any":              hook.JoinAny,
		"drop-events":           hook.DropEvents,
		"drop-if-older":         hook.DropIfOlder,
		"checkpoint-now":        hook.CheckpointNow,
		"watermark-max":         hook.WatermarkMax,
		"gap-silent":            hook.GapSilent,
		"epoch-before-position": hook.EpochBeforePosition,
		"refill-absent":         hook.RefillAbsent,
		"refill-not-last":       hook.RefillNotLast,
		"refill-unpositioned":   hook.RefillUnpositioned,
		"ignore-insert":         hook.IgnoreInsert,
		"replies-shifted":       hook.RepliesShifted,
		"holes-ignored":         hook.HolesIgnored,
		"install-written":       hook.InstallWritten,
		"token-is-commit-time":  hook.TokenIsCommitTime,
		"session-token-is-asof": hook.SessionTokenIsAsOf,
		"fingerprint-unread":    hook.FingerprintUnread,
		"refill-incomplete":     hook.RefillIncomplete,
		"no-relay-gate":         hook.NoRelayGate,
		"no-node-gate":          hook.NoNodeGate,
		"gate-asks-replica":     hook.GateAsksReplica,
		"barrier-from-list":     hook.BarrierFromList,
		"old-primary-lifts":     hook.OldPrimaryLifts,
		"order-by-row":          hook.OrderByRow,
		"ttl-extended":          hook.TTLExtended,
		"truncate-one":          hook.TruncateOne,
		"clock-suspends":        hook.ClockSuspends,
	}
}

// Mutate makes this process a mutant, and lets it dawdle at the points where
// another actor may move: the windows through which most mutants show are
// microseconds wide.
func Mutate(name string) error {
	m, ok := Mutants()[name]
	if !ok {
		return fmt.Errorf("there is no mutant %q; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(Mutants())), ", "))
	}
	hook.Set(m)
	hook.Step(dawdle)
	return nil
}

// dawdle sleeps at one in so many visits of a point.
func dawdle(point string) {
	at, ok := map[string]struct {
		one  int
		long time.Duration
	}{
		"cache.read.watermark":  {200, 5 * time.Millisecond},
		"cache.read.stamp":      {200, 50 * time.Millisecond},
		"cache.install.checked": {20, 2 * time.Millisecond},
		"cache.change.bumped":   {20, time.Millisecond},
		"sqlite.read":           {10, 120 * time.Millisecond},
		"cdc.gap.fallen":        {1, 20 * time.Millisecond},
	}[point]
	if ok && rand.IntN(at.one) == 0 {
		time.Sleep(at.long)
	}
}
