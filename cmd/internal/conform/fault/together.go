package fault

import (
	"context"
	"errors"
	"slices"
)

// Together makes one fault out of several, which go on at the same time: some
// of what must not go wrong only does where two things meet.
func Together(name string, faults ...Fault) Fault {
	all := Fault{Name: name}
	for _, f := range faults {
		all.Target = "several"
		all.Parts = append(all.Parts, f.Parts...)
		all.Clocks = all.Clocks || f.Clocks
		all.Least, all.Most = max(all.Least, f.Least), max(all.Most, f.Most)
	}
	slices.Sort(all.Parts)
	all.Parts = slices.Compact(all.Parts)
	begun := 0
	all.Begin = func(ctx context.Context) error {
		for begun = 0; begun < len(faults); {
			f := &faults[begun]
			begun++ // also one that has begun badly is to be ended
			if err := f.Begin(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	all.End = func(ctx context.Context) error {
		var errs []error
		for i := begun - 1; i >= 0; i-- {
			if faults[i].End != nil {
				errs = append(errs, faults[i].End(ctx))
			}
		}
		return errors.Join(errs...)
	}
	return all
}
