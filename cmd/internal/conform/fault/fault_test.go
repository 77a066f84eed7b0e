package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// notes is a history of faults. The times are not kept: they are of a clock
// that a bubble does not have.
type notes struct {
	mu    sync.Mutex
	lines []string
	began map[uint64]bool
}

func (n *notes) Add(record any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := record.(*history.Fault)
	if f.End == !n.began[f.ID] {
		return fmt.Errorf("%+v: begin and end in the wrong order", f)
	}
	n.began[f.ID] = true
	n.lines = append(n.lines, fmt.Sprintf("%s %v", f.Name, f.End))
	return nil
}

func (n *notes) Flush() error { return nil }

// scene are faults over shared parts that notice when they overlap.
type scene struct {
	mu     sync.Mutex
	active map[string]string
	begun  map[string]int
	wrong  []string
}

func (s *scene) fault(name string, parts ...string) Fault {
	return Fault{Name: name, Parts: parts, Least: time.Second, Most: 3 * time.Second,
		Begin: func(context.Context) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.begun[name]++
			for _, p := range parts {
				if other := s.active[p]; other != "" {
					s.wrong = append(s.wrong, name+" while "+other)
				}
				s.active[p] = name
			}
			return nil
		},
		End: func(ctx context.Context) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, p := range parts {
				delete(s.active, p)
			}
			return ctx.Err()
		}}
}

func newScene() *scene { return &scene{active: map[string]string{}, begun: map[string]int{}} }

func TestEveryFaultComesAloneThenMixed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n := newScene(), &notes{began: map[uint64]bool{}}
		faults := []Fault{s.fault("a", "x"), s.fault("b", "x", "y"), s.fault("c", "z"), s.fault("d", "y")}
		start := time.Now()
		plan := Plan{Seed: 3, Total: 60 * time.Second, Calm: 10 * time.Second, Rest: time.Second, Rows: 3}
		if err := Run(t.Context(), plan, faults, func() Record { return n }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != plan.Total {
			t.Errorf("took %v", took)
		}
		var first []string
		for i, line := range n.lines[:8] {
			if i%2 == 0 {
				first = append(first, line)
			}
		}
		slices.Sort(first)
		if !slices.Equal(first, []string{"a false", "b false", "c false", "d false"}) {
			t.Errorf("alone: %q", n.lines[:8])
		}
		if len(s.wrong) > 0 || len(s.active) > 0 {
			t.Errorf("overlap: %q, left: %v", s.wrong, s.active)
		}
		if mixed := len(n.lines)/2 - 4; mixed < 10 {
			t.Errorf("%d faults in the mix", mixed)
		}
	})
}

// A fault that ends late makes the run longer: what comes behind the last one
// is to be seen.
func TestItIsCalmBehindTheLastFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notes{began: map[uint64]bool{}}
		slow := Fault{Name: "slow", Least: time.Second, Most: time.Second,
			Begin: func(context.Context) error { return nil },
			End:   func(ctx context.Context) error { time.Sleep(time.Minute); return nil }}
		start := time.Now()
		plan := Plan{Total: 20 * time.Second, Calm: 5 * time.Second, After: 14 * time.Second}
		if err := Run(t.Context(), plan, []Fault{slow}, func() Record { return n }); err != nil {
			t.Fatal(err)
		}
		if took, want := time.Since(start), 5*time.Second+time.Second+time.Minute+plan.After; took != want {
			t.Errorf("took %v, and not %v", took, want)
		}
	})
}

func TestFaultsEndWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n := newScene(), &notes{began: map[uint64]bool{}}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		plan := Plan{Seed: 3, Total: time.Minute, Calm: time.Second, Rest: time.Second, Rows: 3}
		if err := Run(ctx, plan, []Fault{s.fault("a", "x")}, func() Record { return n }); err != nil {
			t.Fatal(err)
		}
		if len(s.active) > 0 || len(n.lines) != 2 {
			t.Errorf("left: %v; %q", s.active, n.lines)
		}
	})
}

func TestAFaultThatFailsEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		n := &notes{began: map[uint64]bool{}}
		f := Fault{Name: "a", Begin: func(context.Context) error { return broken }}
		err := Run(t.Context(), Plan{Total: time.Minute, Calm: time.Second}, []Fault{f}, func() Record { return n })
		if !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
	})
}

func TestWithoutFaultsNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := Run(t.Context(), Plan{Total: 7 * time.Second, Calm: time.Second}, nil, nil); err != nil || time.Since(start) != 7*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
