package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// slot is a replication slot as the server shows it.
type slot struct {
	found     bool
	unfit     string // why it is none that can be read here; "": it is
	pid       string // of the one who reads it; "": nobody does
	reader    string // what that is
	lost      bool
	failover  bool
	confirmed uint64
}

// Columns that only later versions have are asked for by their names.
const slotQuery = `SELECT s.plugin, s.slot_type, coalesce(s.database, ''), current_database(), coalesce(s.two_phase, false), s.temporary,
	s.active_pid, concat_ws(' ', quote_literal(nullif(a.application_name, '')), 'from', coalesce(a.client_addr::text, 'the server itself')),
	s.wal_status = 'lost' OR coalesce(to_jsonb(s) ->> 'invalidation_reason', '') <> '' OR coalesce(to_jsonb(s) ->> 'conflicting', 'false') = 'true',
	coalesce(to_jsonb(s) ->> 'failover', 'false'), coalesce(s.confirmed_flush_lsn, '0/0')
	FROM pg_replication_slots AS s LEFT JOIN pg_stat_activity AS a ON a.pid = s.active_pid WHERE s.slot_name = $1`

func (d *database) slot(ctx context.Context, name string) (s slot, err error) {
	err = d.Query(ctx, func(v [][]byte) error {
		s = slot{found: true, pid: string(v[6]), reader: string(v[7]), lost: yes(v[8]), failover: string(v[9]) == "true"}
		switch {
		case string(v[1]) != "logical":
			s.unfit = "is a " + string(v[1]) + " slot"
		case string(v[0]) != "pgoutput":
			s.unfit = "is one of the plugin " + string(v[0])
		case string(v[2]) != string(v[3]):
			s.unfit = "is of database " + string(v[2])
		case yes(v[4]):
			s.unfit = "sends transactions that are only prepared (two_phase)"
		case yes(v[5]):
			s.unfit = "is temporary"
		}
		s.confirmed, err = postgres.ParseLSN(string(v[10]))
		return err
	}, slotQuery, name)
	if err != nil {
		return s, fmt.Errorf("look at the slot: %w", err)
	}
	return s, nil
}

func yes(v []byte) bool { return string(v) == "t" }

// usable says what keeps a slot that is there from being read.
func (s *slot) usable() error {
	switch {
	case s.unfit != "":
		return fmt.Errorf("it %s: name another in relay.slot, or drop it", s.unfit)
	case s.pid != "":
		return fmt.Errorf("it is read by process %s, %s: this relay stands by until that ends (or give each relay of another topic a slot of its own)", s.pid, s.reader)
	}
	return nil
}

// makeSlot makes a slot. The server waits until it can begin: until all
// transactions that are running have ended.
func (d *database) makeSlot(ctx context.Context, name string, failover bool) error {
	sql := "SELECT pg_create_logical_replication_slot($1, 'pgoutput')"
	if failover {
		sql = "SELECT pg_create_logical_replication_slot($1, 'pgoutput', false, false, true)"
	}
	if err := d.Query(ctx, nil, sql, name); err != nil {
		return explain(fmt.Errorf("make the slot: %w", err))
	}
	return nil
}

// dropSlot gives up a slot that cannot go on. The next one begins later: so
// what lies between them is lost, and another stream begins.
func (d *database) dropSlot(ctx context.Context, name string) error {
	if err := d.Query(ctx, nil, "SELECT pg_drop_replication_slot($1)", name); err != nil {
		return fmt.Errorf("drop the slot that is lost: %w", err)
	}
	return nil
}

const healthQuery = `SELECT coalesce(wal_status, ''), safe_wal_size,
	pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::int8, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::int8,
	CASE WHEN current_setting('max_slot_wal_keep_size') <> '-1' THEN pg_size_bytes(current_setting('max_slot_wal_keep_size')) END
	FROM pg_replication_slots WHERE slot_name = $1`

// health takes down how the slot is, for those who watch over the server's
// disk. It also keeps saying so while nothing can be shipped.
func (b *beats) health(ctx context.Context) error {
	m := b.log.metrics
	found := false
	err := b.Query(ctx, func(v [][]byte) error {
		found = true
		m.setStatus(string(v[0]))
		m.safe.Set(number(v[1], math.Inf(1)))
		m.lagBytes.Set(number(v[2], 0))
		m.retained.Set(number(v[3], 0))
		m.limit.Set(number(v[4], math.Inf(1)))
		return nil
	}, healthQuery, b.log.opts.Slot)
	if err == nil && !found {
		err = errors.New("it is not there any more")
	}
	if err != nil {
		return fmt.Errorf("look at the slot: %w", err)
	}
	return nil
}

func number(text []byte, absent float64) float64 {
	if text == nil {
		return absent
	}
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return math.NaN()
	}
	return n
}
