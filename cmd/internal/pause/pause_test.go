package pause

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if !For(t.Context(), time.Second) || time.Since(begun) != time.Second {
			t.Errorf("a second took %v", time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun = time.Now()
		if For(ctx, time.Hour) || time.Since(begun) != time.Minute {
			t.Errorf("an hour that a minute cut off took %v", time.Since(begun))
		}
	})
}
