package proxy

import "context"

// Caller is on whose behalf a Source is asked. Its rights were checked where it
// is connected; its name lets a node that is asked in turn check its own table.
type Caller struct {
	Name string // of the user; "" where there are no users
	Low  bool   // its requests are the first that a full queue refuses
}

type callerKey struct{}

// With returns ctx with the caller in it. It is made once per login, not per
// request.
func (c *Caller) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller in ctx; nil: nobody in particular.
func CallerOf(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}
