package postgres

import (
	"context"
	"errors"
	"strconv"

	"github.com/freshet-cache/freshet/proxy"
)

// fromReplicas reads from the next replica, and from the others if that one
// cannot answer.
func (s *Source) fromReplicas(ctx context.Context, l *load) error {
	first, errs := s.turn.Add(1), []error(nil)
	for i := range uint64(len(s.replicas)) {
		p := s.replicas[(first+i)%uint64(len(s.replicas))]
		err := p.read(ctx, func(c *Conn) error {
			return s.patiently(ctx, c, l.mappings, func() error { return l.fromReplica(ctx, c) })
		})
		if err == nil || ctx.Err() != nil {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// fromReplica reads the rows, and how far this replica has come: T of the last
// checkpoint that the same snapshot shows. What was visible on the primary at
// T is in the snapshot, and nothing else proves how old it is; its place in the
// log says nothing either, since a standby may show what its primary does not
// show yet. So the rows are pinned, of no position, and from no primary.
func (l *load) fromReplica(ctx context.Context, c *Conn) error {
	groups, err := l.groups(ctx, c)
	if err != nil {
		return err
	}
	var asOf proxy.Time
	settings, want := observed(repeatable)
	settled := false
	head := &command{sql: "SELECT (" + checkpointRead + "), " + settings, row: rows(func(v [][]byte) (err error) {
		settled = string(v[1]) == want
		if v[0] != nil {
			var t int64
			t, err = strconv.ParseInt(string(v[0]), 10, 64)
			asOf = proxy.Time(t)
		}
		return err
	})}
	err = c.snapshot(ctx, false, tables(groups), append([]*command{head}, l.rows(groups)...)...)
	switch {
	case missing(err, "freshet_checkpoint"):
		return unfit("this replica has no table %s, which says how far it has come: let the relay write checkpoints for replicas", CheckpointTable)
	case err != nil:
		return err
	case !settled:
		return errUnsettled
	case asOf == 0:
		return unfit("table %s is empty, so nothing says how far this replica has come: start the relay", CheckpointTable)
	}
	for _, g := range groups {
		for _, i := range g.at {
			l.results[i].AsOf, l.results[i].Pinned = asOf, true
		}
	}
	return nil
}
