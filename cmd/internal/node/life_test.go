package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLiveEndsTheLastPartFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		note := func(s string) { mu.Lock(); order = append(order, s); mu.Unlock() }
		var parts []part
		for _, name := range []string{"a", "b", "c"} {
			parts = append(parts, part{name, func(ctx context.Context) error {
				<-ctx.Done()
				note(name)
				return ctx.Err()
			}})
		}
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		go func() { result <- live(ctx, func() { note("draining") }, parts) }()
		synctest.Wait()
		cancel()
		if err := <-result; err != nil {
			t.Error(err)
		}
		if want := []string{"draining", "c", "b", "a"}; !slices.Equal(order, want) {
			t.Errorf("ended as %v, want %v", order, want)
		}
	})
}

func TestLiveEndsAllWhenOnePartDoes(t *testing.T) {
	broken := errors.New("broken")
	for name, err := range map[string]error{"with an error": broken, "by itself": nil} {
		ended := false
		got := live(t.Context(), func() {}, []part{
			{"steady", func(ctx context.Context) error { <-ctx.Done(); ended = true; return nil }},
			{"weak", func(context.Context) error { return err }},
		})
		if !ended || got == nil || !strings.Contains(got.Error(), "weak") || (err != nil && !errors.Is(got, broken)) {
			t.Errorf("%s: the other part ended: %v; err = %v", name, ended, got)
		}
	}
}
