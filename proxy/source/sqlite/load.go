package sqlite

import (
	"context"
	"errors"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Load reads the rows of all keys in one snapshot, which is taken after the
// call.
func (s *Source) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	err := s.readers.use(ctx, func(c *Conn) error {
		err := s.read(ctx, c, reqs, results, nil)
		if errors.Is(err, errPlanOld) {
			err = s.read(ctx, c, reqs, results, s.generations())
		}
		return err
	})
	if err == nil {
		return
	}
	err = unavailable(s.opts.Path, err)
	for i := range results {
		results[i] = proxy.Result{Err: err}
	}
}

// read answers reqs in a snapshot of its own. With generations it may make a
// new plan; without, it returns errPlanOld where it would have to.
func (s *Source) read(ctx context.Context, c *Conn, reqs []proxy.Request, results []proxy.Result, generations []uint64) error {
	return c.Snapshot(ctx, func() error {
		head, err := c.Head(ctx)
		if err != nil {
			return err
		}
		p := s.plan.Load()
		for i := range reqs {
			if p.fits(head, reqs[i].Key.UseCase.Mapping) {
				continue
			}
			if generations == nil {
				return errPlanOld
			}
			if p, err = s.replan(ctx, c, head.SchemaVersion, generations); err != nil {
				return err
			}
			break
		}
		for i := range reqs {
			results[i] = proxy.Result{Position: head.Position(), Primary: head.Identity}
			if err := p.of[reqs[i].Key.UseCase.Mapping].load(ctx, c, reqs[i].Key, &results[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// load reads one row. An error that is this key's own goes into the result.
func (r *reading) load(ctx context.Context, c *Conn, key proxy.Key, result *proxy.Result) error {
	if r.err != nil {
		result.Err = r.err
		return nil
	}
	args, err := bindKeyParts(key)
	if err != nil {
		result.Err = err
		return nil
	}
	return c.Query(ctx, func(values []any) error {
		result.Row = encode(r.schema, values)
		return nil
	}, r.find, args...)
}

func encode(s *row.Schema, values []any) row.Row {
	fields := make([]row.Field, len(values))
	for i, v := range values {
		fields[i] = Field(s.Columns[i], v)
	}
	encoded, _ := row.Encode(s, fields) // complete and in order by construction
	return encoded
}
