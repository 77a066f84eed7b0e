package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/proxy/source/clock"
)

// Fault is something that goes wrong, and stops going wrong.
type Fault struct {
	Name   string
	Target string
	Parts  []string // what it touches: faults of one part do not overlap
	Clocks bool     // it steps a clock
	Least  time.Duration
	Most   time.Duration                   // how long it goes on
	Begin  func(ctx context.Context) error // returns once it has begun
	End    func(ctx context.Context) error // nil: it ends by itself
}

// note is what the history has of f.
func (f *Fault) note() history.Fault {
	return history.Fault{Name: f.Name, Target: f.Target, Clocks: f.Clocks}
}

// String is what the history calls it.
func (f *Fault) String() string {
	note := f.note()
	return note.String()
}

// Record takes the records of faults.
type Record interface {
	Add(record any) error
	Flush() error
}

// injector makes faults happen one by one.
type injector struct {
	log Record
	ids *atomic.Uint64
	*rand.Rand
}

func now() history.Time { return history.Time(clock.Boottime()) }

// inject lets a fault begin, go on for a while and end. It ends also if ctx
// does: what was begun is made good.
func (in *injector) inject(ctx context.Context, f *Fault) error {
	whole := context.WithoutCancel(ctx)
	note := f.note()
	note.ID, note.At = in.ids.Add(1), now()
	if err := in.add(&note); err != nil {
		return err
	}
	err := f.Begin(whole)
	if err == nil {
		pause.For(ctx, f.Least+time.Duration(in.Int64N(int64(f.Most-f.Least)+1)))
	}
	if f.End != nil {
		err = errors.Join(err, f.End(whole))
	}
	note.At, note.End = now(), true
	if err != nil {
		err = fmt.Errorf("fault %s of %s: %w", f.Name, f.Target, err)
	}
	return errors.Join(err, in.add(&note))
}

func (in *injector) add(f *history.Fault) error {
	if err := in.log.Add(f); err != nil {
		return err
	}
	return in.log.Flush()
}
