package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/freshet-cache/freshet/cdc/gate"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// database is an ordinary connection to the primary.
type database struct {
	*postgres.Conn
	identity proxy.Identity
}

func (d *database) close() { d.Conn.Close() }

// one reads a statement's only row.
func (d *database) one(ctx context.Context, f func(values [][]byte) error, sql string, args ...string) error {
	found := false
	err := d.Query(ctx, func(values [][]byte) error {
		found = true
		return f(values)
	}, sql, args...)
	if err == nil && !found {
		err = errors.New("the database has answered nothing")
	}
	return err
}

// text reads a statement's only value, "" for NULL.
func (d *database) text(ctx context.Context, sql string, args ...string) (text string, err error) {
	err = d.one(ctx, func(v [][]byte) error { text = string(v[0]); return nil }, sql, args...)
	return text, err
}

// The start of the server is asked each time: behind an address that moves,
// another server may answer, and a standby calls running transactions visible.
const snapshotQuery = `SELECT pg_current_snapshot(), pg_is_in_recovery(), ` + postgres.StartedSQL

func (d *database) snapshot(ctx context.Context) (s gate.Snapshot, err error) {
	err = d.one(ctx, func(v [][]byte) error {
		if string(v[1]) != "f" || string(v[2]) != strconv.FormatInt(d.identity.Started, 10) {
			return errOtherServer
		}
		s, err = gate.ParseSnapshot(string(v[0]))
		return err
	}, snapshotQuery)
	if err != nil {
		return s, fmt.Errorf("take a snapshot: %w", err)
	}
	return s, nil
}

func (d *database) horizon(ctx context.Context) (uint64, error) {
	text, err := d.text(ctx, "SELECT pg_current_xact_id()")
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(text, 10, 64)
}

// The columns of a table as the log describes them: what the database computes
// is not in it.
const shapeQuery = `SELECT attname, atttypid, atttypmod FROM pg_attribute
	WHERE attrelid = $1::oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`

func (d *database) describe(ctx context.Context, t *table) (*description, error) {
	is, err := postgres.Describe(ctx, d.Conn, t.name)
	if errors.As(err, new(*postgres.UnfitError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := &description{Table: is}
	err = d.Query(ctx, func(v [][]byte) error {
		typ, err := strconv.ParseUint(string(v[1]), 10, 32)
		if err != nil {
			return err
		}
		modifier, err := strconv.ParseInt(string(v[2]), 10, 32)
		out.shape = append(out.shape, relationColumn{name: string(v[0]), typ: uint32(typ), modifier: int32(modifier)})
		return err
	}, shapeQuery, strconv.FormatUint(uint64(is.OID), 10))
	return out, err
}

// setting reads one of the server's settings.
func (d *database) setting(ctx context.Context, name string) (string, error) {
	return d.text(ctx, "SELECT current_setting($1)", name)
}
