package fault

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/cmd/internal/pause"
)

// Plan says when which faults come.
type Plan struct {
	Seed  uint64
	Total time.Duration // of the run
	Calm  time.Duration // at its begin, and again at its end
	After time.Duration // it is calm at the end for at least so long, though a fault took longer than planned
	Rest  time.Duration // between two faults of one row
	Rows  int           // of the mix: so many faults at a time, at most
}

// Run makes faults happen for as long as the plan says, or until ctx ends.
// Every one comes alone first, in an order drawn from the seed, and with the
// time that is left come mixes. log gives each row of faults a record of its
// own.
func Run(ctx context.Context, p Plan, faults []Fault, log func() Record) error {
	start := time.Now()
	whole := ctx
	if len(faults) == 0 {
		pause.For(ctx, p.Total)
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, start.Add(p.Total-p.Calm))
	defer cancel()
	var ids atomic.Uint64
	pause.For(ctx, p.Calm)
	if err := alone(ctx, p, faults, log(), &ids); err != nil {
		return err
	}
	if err := mixed(ctx, p, faults, log, &ids); err != nil {
		return err
	}
	pause.For(whole, max(p.After, time.Until(start.Add(p.Total))))
	return nil
}

func alone(ctx context.Context, p Plan, faults []Fault, log Record, ids *atomic.Uint64) error {
	in := &injector{log: log, ids: ids, Rand: rand.New(rand.NewPCG(p.Seed, 0))}
	for _, i := range in.Perm(len(faults)) {
		if ctx.Err() != nil {
			return nil
		}
		if err := in.inject(ctx, &faults[i]); err != nil {
			return err
		}
		pause.For(ctx, p.Rest)
	}
	return nil
}

// mixed lets some rows of faults go on at the same time. Each row has parts of
// its own to disturb at any one time: what is killed cannot be frozen.
func mixed(ctx context.Context, p Plan, faults []Fault, log func() Record, ids *atomic.Uint64) error {
	g, ctx := errgroup.WithContext(ctx)
	held := &parts{taken: map[string]bool{}}
	for row := range p.Rows {
		in := &injector{log: log(), ids: ids, Rand: rand.New(rand.NewPCG(p.Seed, uint64(row+1)))}
		g.Go(func() error {
			for ctx.Err() == nil {
				f := &faults[in.IntN(len(faults))]
				if !held.take(f.Parts) {
					pause.For(ctx, p.Rest/4)
					continue
				}
				err := in.inject(ctx, f)
				held.give(f.Parts)
				if err != nil {
					return err
				}
				pause.For(ctx, time.Duration(in.Int64N(int64(p.Rest)+1)))
			}
			return nil
		})
	}
	return g.Wait()
}

// parts are those that a fault has in hand.
type parts struct {
	mu    sync.Mutex
	taken map[string]bool
}

func (p *parts) take(names []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range names {
		if p.taken[n] {
			return false
		}
	}
	for _, n := range names {
		p.taken[n] = true
	}
	return true
}

func (p *parts) give(names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range names {
		delete(p.taken, n)
	}
}
