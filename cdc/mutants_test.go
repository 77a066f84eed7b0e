//go:build mutants

package cdc

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/proxy/hook"
)

// Each mutant of this package is caught by a check that is green without it.
func TestMutantsAreCaught(t *testing.T) {
	checks := map[hook.M]func(*testing.T) error{
		hook.DropEvents:       everyChangeIsApplied,
		hook.WatermarkMax:     twins,
		hook.GapSilent:        twins,
		hook.HolesIgnored:     twins,
		hook.RefillIncomplete: twins,
		hook.RefillNotLast:    twins,
		hook.IgnoreInsert:     twins,
		hook.TruncateOne:      twins,
		hook.OldPrimaryLifts:  twins,
		hook.NoRelayGate:      gated(true, false),
		hook.NoNodeGate:       gated(false, true),
	}
	defer hook.Set(hook.None)
	for m, check := range checks {
		t.Run(fmt.Sprint(m), func(t *testing.T) {
			hook.Set(hook.None)
			if err := check(t); err != nil {
				t.Fatalf("without the mutant: %v", err)
			}
			hook.Set(m)
			err := check(t)
			hook.Set(hook.None)
			if err == nil {
				t.Fatal("the mutant lives")
			}
			t.Log(err)
		})
	}
}

func twins(t *testing.T) error {
	for seed := range uint64(60) {
		if _, err := runTwin(t, seed); err != nil {
			return err
		}
	}
	return nil
}

func everyChangeIsApplied(t *testing.T) error {
	a, cache, in := running(t)
	for i := range 3000 {
		cache.take()
		a.Record(0, int64(i)+1, nil, in())
		if got := cache.take(); len(got) != 2 {
			return fmt.Errorf("change %d: %q", i, got)
		}
	}
	return nil
}

func gated(relay, node bool) func(*testing.T) error {
	return func(t *testing.T) (err error) {
		synctest.Test(t, func(t *testing.T) { _, err = gateStory(t, relay, node, false, 500*time.Millisecond) })
		return err
	}
}
