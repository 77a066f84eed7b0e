package postgres

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
)

// Head is what a snapshot says of itself.
type Head struct {
	Identity proxy.Identity // zero if a standby answered
	Insert   uint64         // the end of the log, read after the snapshot was taken; 0 on a standby
	horizon  uint64         // transactions below it had all ended; 0: not asked for
	settled  bool           // the settings are as they have to be
}

// Position is behind all that the snapshot shows: a commit was in the log
// before any snapshot could show it.
func (h Head) Position() proxy.Position {
	if h.Insert == 0 {
		return proxy.Position{}
	}
	return proxy.Position{Commit: h.Insert, Seq: math.MaxUint64}
}

// headColumns is how many columns headList has.
const headColumns = 6

// StartedSQL is when the server's life began, in microseconds: its start, or
// what it began anew with from its log because one of its processes had crashed,
// without another start. What was committed asynchronously was then visible and
// has never been. The recovery resets these statistics, and keeps the time; so
// does whoever resets them by hand, which costs a cold cache.
const StartedSQL = `(extract(epoch FROM greatest(pg_catalog.pg_postmaster_start_time(),
	pg_catalog.pg_stat_get_bgwriter_stat_reset_time())) * 1000000)::pg_catalog.int8`

// headList is the columns of a Head: who answers, the end of the log with the
// timeline that is written to, and the settings. The snapshot is a primary's
// only if its transaction could write: with a standby that is promoted
// meanwhile, pg_is_in_recovery() is false already when the snapshot is still
// the standby's. The log's functions fail on a standby.
func headList(horizon bool, isolation string) string {
	settings, _ := observed(isolation)
	xmin := "NULL::pg_catalog.int8"
	if horizon {
		xmin = "pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())"
	}
	return `CASE WHEN ` + primary + ` THEN pg_catalog.pg_current_wal_insert_lsn() END AS h_insert,
		CASE WHEN ` + primary + ` THEN pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8) END AS h_timeline,
		(SELECT system_identifier FROM pg_catalog.pg_control_system()) AS h_system,
		` + StartedSQL + ` AS h_started,
		` + xmin + ` AS h_horizon,
		` + settings + ` AS h_settings`
}

// primary is whether a statement's snapshot is one of a primary.
const primary = `pg_catalog.current_setting('transaction_read_only') = 'off' AND NOT pg_catalog.pg_is_in_recovery()`

// parseHead reads what headList selected.
func parseHead(values [][]byte, isolation string) (h Head, err error) {
	_, want := observed(isolation)
	h.settled = string(values[5]) == want
	if values[0] == nil || values[1] == nil {
		return h, nil
	}
	if h.Insert, err = ParseLSN(string(values[0])); err != nil {
		return h, err
	}
	if h.Identity.Timeline, err = strconv.ParseUint(string(values[1]), 16, 32); err != nil {
		return h, fmt.Errorf("timeline %q: %w", values[1], err)
	}
	if h.Identity.System, err = strconv.ParseUint(string(values[2]), 10, 64); err != nil {
		return h, fmt.Errorf("system identifier %q: %w", values[2], err)
	}
	if h.Identity.Started, err = strconv.ParseInt(string(values[3]), 10, 64); err != nil {
		return h, fmt.Errorf("start of the server %q: %w", values[3], err)
	}
	if values[4] != nil {
		if h.horizon, err = strconv.ParseUint(string(values[4]), 10, 64); err != nil {
			return h, fmt.Errorf("horizon of the snapshot %q: %w", values[4], err)
		}
	}
	return h, nil
}

// Head asks the server who it is, in a transaction of its own. A standby is
// proxy.ErrNotPrimary, or a Head without an identity.
func (c *Conn) Head(ctx context.Context) (h Head, err error) {
	err = c.statement(ctx, true, c.headCommand(&h, committed))
	return h, err
}

func (c *Conn) headCommand(h *Head, isolation string) *command {
	return &command{sql: "SELECT " + headList(c.opts.Horizons, isolation), row: rows(func(v [][]byte) (err error) {
		*h, err = parseHead(v, isolation)
		return err
	})}
}

// judge refuses the answer of a server that is not the primary, or whose texts
// may not be the right ones.
func (h Head) judge() error {
	switch {
	case !h.Identity.Known():
		return errStandby
	case !h.settled:
		return errUnsettled
	}
	return nil
}

// ParseLSN reads a place in the log as PostgreSQL writes it: two numbers in
// hexadecimal.
func ParseLSN(text string) (uint64, error) {
	high, low, ok := strings.Cut(text, "/")
	h, err := strconv.ParseUint(high, 16, 32)
	if err != nil || !ok {
		return 0, fmt.Errorf("%q is no place in the log", text)
	}
	l, err := strconv.ParseUint(low, 16, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is no place in the log", text)
	}
	return h<<32 | l, nil
}
