package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// Snapshot takes one on the primary, as pg_current_snapshot() writes it, and
// says whose it is. That a primary answers is asked in the same statement: what
// a standby's snapshot shows, its primary may not show yet.
func (s *Source) Snapshot(ctx context.Context) (of proxy.Identity, snapshot string, err error) {
	if hook.Mutant(hook.GateAsksReplica) && len(s.replicas) > 0 {
		return s.replicaSnapshot(ctx)
	}
	return s.ask(ctx, "pg_catalog.pg_current_snapshot()")
}

// Horizon returns a number above those of all transactions that have one by
// now, and of which server. Who asks after a position in the log was known, and
// reads with a proxy.Result.Horizon of at least that, sees all that was committed
// before that position. A snapshot would not do:
//
//  1. a transaction gets its number n, and writes; none above it has ended
//  2. a snapshot ends at n: it does not list n among those that run
//  3. its commit goes to the log, and lies before the position
//  4. all that the snapshot listed have ended; n is not visible yet
//
// And who reads then takes the old row for the new one.
func (s *Source) Horizon(ctx context.Context) (of proxy.Identity, horizon uint64, err error) {
	if hook.Mutant(hook.BarrierFromList) {
		return s.listed(ctx)
	}
	of, text, err := s.ask(ctx, "pg_catalog.pg_current_xact_id()")
	if err != nil {
		return of, 0, err
	}
	if horizon, err = strconv.ParseUint(text, 10, 64); err != nil {
		return of, 0, fmt.Errorf("number of a transaction %q: %w", text, err)
	}
	return of, horizon, nil
}

// ask evaluates an expression on the primary.
func (s *Source) ask(ctx context.Context, expression string) (of proxy.Identity, answer string, err error) {
	var head Head
	err = s.asks.read(ctx, func(c *Conn) error {
		err := c.statement(ctx, true, &command{
			sql: "SELECT " + headList(false, committed) + ", CASE WHEN " + primary + " THEN " + expression + " END",
			row: rows(func(v [][]byte) (err error) {
				answer = string(v[headColumns])
				head, err = parseHead(v, committed)
				return err
			}),
		})
		if err == nil && !head.Identity.Known() {
			err = errStandby
		}
		return err
	})
	if err = s.primaryOnly(err); err != nil {
		return proxy.Identity{}, "", unavailable(err)
	}
	return head.Identity, answer, nil
}

// listed is the mutant that waits for the transactions which a snapshot lists.
func (s *Source) listed(ctx context.Context) (of proxy.Identity, horizon uint64, err error) {
	of, text, err := s.ask(ctx, "pg_catalog.pg_current_snapshot()")
	if err != nil {
		return of, 0, err
	}
	parts := strings.Split(text, ":")
	last := parts[2][strings.LastIndexByte(parts[2], ',')+1:]
	if last == "" {
		return of, 1, nil
	}
	horizon, err = strconv.ParseUint(last, 10, 64)
	return of, horizon + 1, err
}

// replicaSnapshot is the mutant that asks whoever answers.
func (s *Source) replicaSnapshot(ctx context.Context) (of proxy.Identity, snapshot string, err error) {
	err = s.replicas[0].read(ctx, func(c *Conn) error {
		return c.Query(ctx, func(v [][]byte) error { snapshot = string(v[0]); return nil }, "SELECT pg_catalog.pg_current_snapshot()")
	})
	if err == nil {
		of, _, err = s.ask(ctx, "NULL")
	}
	return of, snapshot, err
}
