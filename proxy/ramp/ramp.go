package ramp

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// Options are the settings of a Ramp. The zero value of a field means its
// default.
type Options struct {
	// Start is how many loads may run at once at first. Default 8.
	Start int
	// Wait is how long a load waits for its turn at most. Default 1 s: as long as
	// a read waits for a fill by default.
	Wait time.Duration
	// Waiting is how many loads may wait. Default 4,096.
	Waiting int
}

// Ramp is a Source in front of another. All its methods may be called
// concurrently.
type Ramp struct {
	next    proxy.Source
	o       Options
	metrics metrics

	mu struct {
		sync.Mutex
		limit   limit
		running int
		queue   list.List // of *turn, who came first in front
		shed    uint64
	}
}

var _ proxy.Source = (*Ramp)(nil)

// turn is a load that waits.
type turn struct {
	come chan struct{} // closed when it is let in
	in   bool
}

// New returns a Ramp in front of next.
func New(next proxy.Source, o Options) *Ramp {
	o.Start, o.Wait, o.Waiting = cmp.Or(o.Start, 8), cmp.Or(o.Wait, time.Second), cmp.Or(o.Waiting, 4096)
	r := &Ramp{next: next, o: o, metrics: newMetrics()}
	r.mu.limit = newLimit(o.Start, time.Now())
	return r
}

var (
	errFull = fmt.Errorf("%w: too many loads wait for the source", proxy.ErrShed)
	errWait = fmt.Errorf("%w: the source is busy with other loads", proxy.ErrUnavailable)
)

// Load implements proxy.Source.
func (r *Ramp) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	if err := r.enter(ctx); err != nil {
		for i := range results {
			results[i] = proxy.Result{Err: err}
		}
		return
	}
	began := time.Now()
	r.next.Load(ctx, reqs, results)
	r.leave(began, overloaded(results))
}

// Apply implements proxy.Source: writes have nothing to wait for. There are as
// many as the application makes, whether the tier is cold or not.
func (r *Ramp) Apply(ctx context.Context, writes []proxy.Write, results []proxy.Written) {
	r.next.Apply(ctx, writes, results)
}

// overloaded reports whether a source gave up on something.
func overloaded(results []proxy.Result) bool {
	for i := range results {
		if err := results[i].Err; err != nil && (errors.Is(err, proxy.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)) {
			return true
		}
	}
	return false
}

// enter waits until a load may run.
func (r *Ramp) enter(ctx context.Context) error {
	mine, err := r.line()
	if mine == nil {
		return err
	}
	patience := time.NewTimer(r.o.Wait)
	defer patience.Stop()
	select {
	case <-mine.Value.(*turn).come:
		return nil
	case <-ctx.Done():
	case <-patience.C:
	}
	if r.withdraw(mine) {
		return errWait
	}
	return nil // it was let in at this very moment
}

// line lets a load in, or has it wait in line.
func (r *Ramp) line() (*list.Element, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.limit.wanted(r.mu.running+r.mu.queue.Len()+1, time.Now())
	switch {
	case r.mu.queue.Len() == 0 && r.mu.running < r.mu.limit.most:
		r.mu.running++
		return nil, nil
	case r.mu.queue.Len() >= r.o.Waiting:
		r.mu.shed++
		return nil, errFull
	}
	return r.mu.queue.PushBack(&turn{come: make(chan struct{})}), nil
}

// withdraw takes a load out of the line, or reports false: it is not in it any
// more.
func (r *Ramp) withdraw(mine *list.Element) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if mine.Value.(*turn).in {
		return false
	}
	r.mu.queue.Remove(mine)
	r.mu.shed++
	return true
}

// leave ends a load, and lets others in.
func (r *Ramp) leave(began time.Time, failed bool) {
	for _, t := range r.left(began, failed) {
		close(t.come)
	}
}

func (r *Ramp) left(began time.Time, failed bool) (turns []*turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.mu.running--
	r.mu.limit.finished(began, now, failed)
	r.mu.limit.wanted(r.mu.running+r.mu.queue.Len(), now)
	for r.mu.running < r.mu.limit.most && r.mu.queue.Len() > 0 {
		t := r.mu.queue.Remove(r.mu.queue.Front()).(*turn)
		t.in = true
		r.mu.running++
		turns = append(turns, t)
	}
	return turns
}
