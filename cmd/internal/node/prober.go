package node

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/pause"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/clock"
)

// probeTimeout is how long one probe may take: a slower one would widen the
// clock's interval by that much.
const probeTimeout = time.Second

// prober reads the source's clock again and again, and asks on the way who the
// primary is.
type prober struct {
	ask    Probe
	clock  *clock.Clock
	stream interface {
		Found(proxy.Identity, proxy.Time) error
	}
	steps interface{ ClockStepped() }
	every time.Duration
	log   *slog.Logger

	failures atomic.Uint64
	stepped  atomic.Uint64
	last     atomic.Pointer[outcome]
}

// outcome is how a probe ended.
type outcome struct{ err error }

func (p *prober) run(ctx context.Context) error {
	for {
		lo, _ := p.clock.Bounds()
		err := p.probe(ctx)
		p.report(err)
		wait := p.every
		if lo == proxy.Never && err == nil {
			// It was sent at no known time, so it lets no watermark rise; the
			// next one does.
			wait = 0
		}
		if !pause.For(ctx, wait) {
			return nil
		}
	}
}

// probe makes one round trip. The lower end of the clock is read before the
// question is sent: what the answer proves, it proves as of then.
func (p *prober) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	lo, _ := p.clock.Bounds()
	sent := p.clock.Local()
	id, t, err := p.ask(ctx)
	if err != nil {
		return err
	}
	if p.clock.Observe(sent, p.clock.Local(), t) {
		p.stepped.Add(1)
		p.log.Warn("the source's clock stepped: everything cached is dropped")
		p.steps.ClockStepped()
		return nil // lo is a time of the clock that is gone
	}
	return p.stream.Found(id, lo)
}

// report keeps the outcome, and logs it when it is another than before.
func (p *prober) report(err error) {
	was := p.last.Swap(&outcome{err})
	switch {
	case err != nil:
		p.failures.Add(1)
		if was == nil || was.err == nil {
			p.log.Warn("the source does not answer probes", "error", err)
		}
	case was != nil && was.err != nil:
		p.log.Info("the source answers probes again")
	}
}

// problem says what is wrong with the source or its clock, or nothing.
func (p *prober) problem() string {
	switch last := p.last.Load(); {
	case last == nil:
		return "source: not asked yet"
	case last.err != nil:
		return "source: " + last.err.Error()
	}
	return ""
}
