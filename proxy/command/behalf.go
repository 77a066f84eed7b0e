package command

import (
	"context"

	"github.com/freshet-cache/freshet/proxy"
)

// behalf is a carrier's context with the caller in it, for a Source. It is
// made once per login, as a carrier has one context for all its Steps.
type behalf struct {
	caller       *proxy.Caller
	carrier, ctx context.Context
}

// of returns ctx with the caller in it; ctx itself if it is nobody in
// particular.
func (b *behalf) of(ctx context.Context, caller *proxy.Caller) context.Context {
	if caller == nil {
		return ctx
	}
	if b.caller != caller || b.carrier != ctx {
		*b = behalf{caller: caller, ctx: caller.With(ctx), carrier: ctx}
	}
	return b.ctx
}
