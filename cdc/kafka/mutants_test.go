//go:build mutants

package kafka

import (
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy/hook"
)

// caught runs the steps with and without a mutant: the check must hold
// without, and fail with it.
func caught(t *testing.T, m hook.M, holds func(t *testing.T) bool) {
	t.Helper()
	if !holds(t) {
		t.Error("fails without the mutant")
	}
	hook.Set(m)
	defer hook.Set(hook.None)
	if holds(t) {
		t.Error("the mutant is not caught")
	}
}

// Every gap of the log is heard of.
func TestGapSilentIsCaught(t *testing.T) {
	caught(t, hook.GapSilent, func(t *testing.T) bool {
		s := newScene(t)
		release := hold(t, s.Cluster)
		put(t, s.p, 0, "missed", "missed too")
		if err := s.DeleteRecords(topic, 0, 4); err != nil {
			t.Fatal(err)
		}
		release()
		answered(t, s.tail, 4)
		put(t, s.p, 0, "after")
		return count(s.untilRecord(t, "after"), "lost") == 2
	})
}

// What is appended once Attached was called comes, all of it: the last record
// comes in any case.
func TestEpochBeforePositionIsCaught(t *testing.T) {
	s := newScene(t) // whose own tail must not be the one that misses a record
	next := int64(1)
	caught(t, hook.EpochBeforePosition, func(t *testing.T) bool {
		next += 3 // "between" is behind what was there before
		e := newEar()
		e.onAttached = func() { put(t, s.p, 0, "between", "before the end") }
		answered(t, start(t, options(s.ListenAddrs()), e, quiet()), next)
		put(t, s.p, 0, "after")
		return index(e.untilRecord(t, "after"), "between") >= 0
	})
}

// answered waits until the tail stands at an offset of partition 0. There is no
// event to wait for where a mutant keeps silent.
func answered(t *testing.T, tail *Tail, next int64) {
	t.Helper()
	ctx := within(t)
	for {
		if pos := tail.Positions(); len(pos) > 0 && pos[0].Next == next {
			return
		}
		if !pause(ctx, time.Millisecond) {
			t.Fatalf("stands at %+v, not %d", tail.Positions(), next)
		}
	}
}
