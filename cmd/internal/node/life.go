package node

import (
	"context"
	"errors"
	"fmt"
)

// part is something that runs until its context ends, and returns after its
// last goroutine has.
type part struct {
	name string
	run  func(context.Context) error
}

// live runs parts until ctx ends or one of them returns, then ends them one by
// one, the last first: what answers clients stops before what it stands on.
// before is called as soon as the end begins.
func live(ctx context.Context, before func(), parts []part) error {
	type ended struct {
		index int
		err   error
	}
	done := make(chan ended, len(parts)) // never blocks: one message per part
	cancels := make([]context.CancelFunc, len(parts))
	base := context.WithoutCancel(ctx)
	for i, p := range parts {
		var own context.Context
		own, cancels[i] = context.WithCancel(base)
		go func() { done <- ended{i, p.run(own)} }()
	}
	returned := make([]bool, len(parts))
	var errs []error
	take := func(e ended) {
		returned[e.index] = true
		if e.err != nil && !errors.Is(e.err, context.Canceled) {
			errs = append(errs, fmt.Errorf("%s: %w", parts[e.index].name, e.err))
		}
	}
	select {
	case <-ctx.Done():
	case e := <-done:
		take(e)
		if e.err == nil {
			errs = append(errs, fmt.Errorf("%s ended by itself", parts[e.index].name))
		}
	}
	before()
	for i := len(parts) - 1; i >= 0; i-- {
		cancels[i]()
		for !returned[i] {
			take(<-done)
		}
	}
	return errors.Join(errs...)
}
