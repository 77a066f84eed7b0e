package postgres

import (
	"context"
	"errors"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// errUnsettled: the session's settings are not those that were made.
var errUnsettled = errors.New("the session's settings are not those that were made: a pooler in front of the database, or a function, changes them")

// patiently runs f, and again after what a connection can mend by itself: the
// tables of the mappings have changed, or the session turns out to be shared.
// Each is tried once.
func (s *Source) patiently(ctx context.Context, c *Conn, mappings func(yield func(*row.Mapping) bool), f func() error) error {
	learned := false
	for {
		err := f()
		switch is := classify(err); {
		case is == isPooled && !c.pooled && c.clean():
			c.pooled = true
		case is == isStale && !learned && c.clean():
			learned = true
			if err := s.relearn(ctx, c, mappings); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (s *Source) relearn(ctx context.Context, c *Conn, mappings func(yield func(*row.Mapping) bool)) error {
	if err := c.forget(ctx); err != nil {
		return err
	}
	for m := range mappings {
		if _, err := s.cases[m].learn(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
