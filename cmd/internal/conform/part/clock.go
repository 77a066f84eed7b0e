package part

import (
	"context"
	"errors"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/fault"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/clock"
)

// HostClock reads the host's clock by the run's.
func HostClock() history.Clock {
	before := clock.Boottime()
	t := proxy.Time(time.Now().UnixNano())
	after := clock.Boottime()
	return history.Clock{At: history.Time(after), Lo: t, Hi: t.Add(after - before)}
}

// Clock makes one round trip to the source's clock, which is this host's: the
// source is here. It is as far off as a fault has it be.
func (t *Tier) Clock(context.Context) (history.Clock, error) {
	c, ahead := HostClock(), time.Duration(t.ahead.Load())
	c.Lo, c.Hi = c.Lo.Add(ahead), c.Hi.Add(ahead)
	return c, nil
}

// OfClock are steps of the source's clock, for everybody who reads it: what the
// relay tells of its times, and what nodes are answered, is that much off. The
// host's own clock cannot be stepped for one process alone.
func (t *Tier) OfClock() []fault.Fault {
	return []fault.Fault{
		t.clockOff("source's clock ahead", Delta),
		t.clockOff("source's clock behind", -Delta),
	}
}

// clockOff steps the source's clock, and steps it back.
func (t *Tier) clockOff(name string, by time.Duration) fault.Fault {
	step := func(by time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			t.ahead.Store(int64(by))
			var errs []error
			for _, p := range append([]*Process{t.Relay}, t.Members...) {
				errs = append(errs, p.Order("clock", int64(by))(ctx))
			}
			return errors.Join(errs...)
		}
	}
	back := func(ctx context.Context) error {
		err := step(0)(ctx)
		pause.For(ctx, 2*time.Second) // so that all have noticed
		return err
	}
	f := Lasting(name, "source", time.Second, 2*time.Second, step(by), back)
	f.Parts = append(t.Nodes(), t.Relay.Name()) // none of which may forget it
	f.Clocks = true
	return f
}
