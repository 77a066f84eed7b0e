package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Transact implements Conn. What fails for a passing reason is done once more,
// from its begin; what may have been committed is not.
func (p *postgresConn) Transact(ctx context.Context, changes []Change, undo bool) (d Done, err error) {
	err = p.patiently(ctx, func(ctx context.Context) error {
		d = Done{}
		return p.transact(ctx, changes, undo, &d)
	})
	return d, err
}

func (p *postgresConn) transact(ctx context.Context, changes []Change, undo bool, d *Done) error {
	tx, err := p.c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // it is over, or the connection is
	for _, ch := range changes {
		if err := postgresChange(ctx, tx, ch); err != nil {
			return fmt.Errorf("%v %d: %w", ch.Op, ch.ID, err)
		}
	}
	// What has changed nothing has no number, and is not to get one.
	if d.Logged, err = logged(ctx, tx, "tx = pg_current_xact_id_if_assigned()::text::bigint"); err != nil {
		return err
	}
	if undo {
		err := tx.Rollback(ctx)
		d.Acked = now()
		return err
	}
	d.Begun = now()
	err = tx.Commit(ctx)
	d.Acked = now()
	switch {
	case err == nil:
		d.Committed = true
	case p.c.IsClosed():
		d.Unknown = true
	default:
		return err // it was refused, and the connection stands
	}
	return nil
}

// rows is a connection or a transaction.
type rows interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func logged(ctx context.Context, from rows, where string, args ...any) ([]Logged, error) {
	r, err := from.Query(ctx, "SELECT seq, id, value FROM "+Log+" WHERE "+where+" ORDER BY seq", args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(r, func(r pgx.CollectableRow) (l Logged, err error) {
		var seq, value int64
		err = r.Scan(&seq, &l.ID, &value)
		l.Seq, l.Value = uint64(seq), uint64(value)
		return l, err
	})
}

// Since implements Conn.
func (p *postgresConn) Since(ctx context.Context, seq uint64) (out []Logged, err error) {
	err = p.patiently(ctx, func(ctx context.Context) (err error) {
		out, err = logged(ctx, p.c, "seq > $1", int64(seq))
		return err
	})
	return out, err
}

// Find implements Conn.
func (p *postgresConn) Find(ctx context.Context, id int, value uint64) (Logged, error) {
	l := Logged{ID: id, Value: value}
	err := p.patiently(ctx, func(ctx context.Context) error {
		var seq int64
		err := p.c.QueryRow(ctx, "SELECT seq FROM "+Log+" WHERE value = $1 AND value > 0 AND id = $2", int64(value), id).Scan(&seq)
		l.Seq = uint64(seq)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotLogged
		}
		return err
	})
	return l, err
}
