package conform

import (
	"context"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
)

// lookAgain is between two looks at the history of a run that is to end early.
const lookAgain = time.Second

// until returns once what was written down so far violates one of the checks
// that are named, or when ctx ends. Of a run that goes on, a write may not be
// there yet that was read already, and a read that nodes have counted: so C8, C9,
// and C0 but for what is no value at all, take a whole run, and the verdict is
// made anew when everything is there.
func (o *Options) until(ctx context.Context, scratch, path string) error {
	for {
		t := time.NewTimer(lookAgain)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
		v, err := check.Files(ctx, scratch, path)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if slices.ContainsFunc(v.Checks, func(c check.Count) bool { return c.Violated > 0 && slices.Contains(o.Until, c.ID) }) {
			return nil
		}
	}
}
