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
// commit. Each write stands alone, unless it is Joined: one that fails undoes no
// other.
//
// Both may be called concurrently.
type Source interface {
	Load(ctx context.Context, reqs []Request, results []Result)
	Apply(ctx context.Context, writes []Write, results []Written)
}

// Stage wraps a Source into another.
type Stage func(Source) Source

// Scanner is a Source that can list the keys of a use case.
type Scanner interface {
	// Scan returns the keys behind one, in an order of the source's own, at
	// most count of them; after nil it begins at the first. No keys and no
	// error: there are none behind it. A row that is there from the first call
	// to the last is in one of them.
	Scan(ctx context.Context, u *UseCase, after []byte, count int) ([][]byte, error)
}
