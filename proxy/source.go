package proxy

import "context"

// Source answers keys.
//
// Load answers reqs[i] in results[i]; both have the same length, and results
// belongs to the caller, so that a hit allocates nothing. An error of one key
// is that Result's Err; ctx ends the caller's wait, not work that others
// share. A source at the end of the chain sets Row, Position and Primary, and
// reads all keys of one call in one snapshot that is taken after the call.
//
// Apply carries out writes in order and answers each in results[i] after its
// commit. Each write stands alone: one that fails undoes no other.
//
// Both may be called concurrently.
type Source interface {
	Load(ctx context.Context, reqs []Request, results []Result)
	Apply(ctx context.Context, writes []Write, results []Written)
}

// Stage wraps a Source into another.
type Stage func(Source) Source

// Chain puts stages in front of a source; the first stage is the outermost.
func Chain(s Source, stages ...Stage) Source {
	for i := len(stages) - 1; i >= 0; i-- {
		s = stages[i](s)
	}
	return s
}
