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
		for i := range results {
			results[i] = proxy.Result{Position: head.Position(), Primary: head.Identity}
		}
		return p.load(ctx, c, reqs, results)
	})
}

// load reads the rows, those of a use case together. The statements run to
// their end, since each takes microseconds and watching ctx would cost more
// than they do; ctx is looked at between them.
func (p *plan) load(ctx context.Context, c *Conn, reqs []proxy.Request, results []proxy.Result) error {
	whole := context.WithoutCancel(ctx)
	for first := 0; first < len(reqs); {
		m := reqs[first].Key.UseCase.Mapping
		end := first + 1
		for end < len(reqs) && reqs[end].Key.UseCase.Mapping == m && end-first < manyKeys {
			end++
		}
		if err := p.of[m].load(whole, c, reqs[first:end], results[first:end]); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// load reads the rows of up to manyKeys keys. An error that is a key's own
// goes into its result.
func (r *reading) load(ctx context.Context, c *Conn, reqs []proxy.Request, results []proxy.Result) error {
	if r.err != nil {
		for i := range results {
			results[i].Err = r.err
		}
		return nil
	}
	for i := range results {
		results[i].Pinned = r.pinned
	}
	query, columns := r.find, len(reqs[0].Key.UseCase.Mapping.Columns)
	args := make([]any, columns)
	if len(reqs) > 1 {
		query, args = r.many, make([]any, manyKeys*columns)
	}
	for i := range reqs {
		parts, err := bindKeyParts(reqs[i].Key)
		if err != nil {
			results[i].Err = err // and its place stays NULL
			continue
		}
		copy(args[i*columns:], parts)
	}
	return c.Query(ctx, func(values []any) error {
		results[values[0].(int64)].Row = encode(r.schema, values[1:])
		return nil
	}, query, args...)
}

func encode(s *row.Schema, values []any) row.Row {
	fields := make([]row.Field, len(values))
	for i, v := range values {
		fields[i] = Field(s.Columns[i], v)
	}
	encoded, _ := row.Encode(s, fields) // complete and in order by construction
	return encoded
}
