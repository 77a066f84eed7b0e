package postgres

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// Slot is a replication slot as the server shows it.
type Slot struct {
	Name      string
	Found     bool
	Logical   bool
	Plugin    string
	Here      bool // it is of this database
	TwoPhase  bool
	Temporary bool
	Failover  bool
	Active    bool
	Reader    string // who reads it
	Status    string // wal_status
	Lost      bool
	SafeBytes int64         // of log that may still be written before it is lost; math.MaxInt64: no limit
	LagBytes  int64         // of log that it has not confirmed
	Retained  int64         // bytes of log that the server keeps for it
	Lag       time.Duration // by the server's account of its reader; negative: not known
}

// Columns that only later versions have are asked for by their names.
const slotsQuery = `SELECT s.slot_name, s.slot_type = 'logical', coalesce(s.plugin, ''), coalesce(s.database = current_database(), false),
	coalesce(s.two_phase, false), s.temporary, coalesce(to_jsonb(s) ->> 'failover', 'false') = 'true', s.active,
	concat_ws(' ', quote_literal(nullif(a.application_name, '')), 'from', coalesce(a.client_addr::text, 'the server itself')),
	coalesce(s.wal_status, ''),
	s.wal_status = 'lost' OR coalesce(to_jsonb(s) ->> 'invalidation_reason', '') <> '' OR coalesce(to_jsonb(s) ->> 'conflicting', 'false') = 'true',
	s.safe_wal_size,
	CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn)::int8 END,
	CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::int8 END,
	(extract(epoch FROM r.flush_lag) * 1000000)::int8
	FROM pg_replication_slots AS s LEFT JOIN pg_stat_activity AS a ON a.pid = s.active_pid
	LEFT JOIN pg_stat_replication AS r ON r.pid = s.active_pid
	WHERE s.slot_name = $1 OR s.slot_type = 'logical' AND s.database = current_database() AND NOT s.active
	ORDER BY s.slot_name`

func (f *Facts) inspectSlots(ctx context.Context, c *Conn, name string) error {
	f.Slot.Name = name
	return c.Query(ctx, func(v [][]byte) error {
		n := numbers{}
		s := Slot{
			Name: string(v[0]), Found: true, Logical: yes(v[1]), Plugin: string(v[2]), Here: yes(v[3]), TwoPhase: yes(v[4]),
			Temporary: yes(v[5]), Failover: yes(v[6]), Active: yes(v[7]), Status: string(v[9]), Lost: yes(v[10]),
			SafeBytes: math.MaxInt64, LagBytes: n.of(v[12]), Retained: n.of(v[13]), Lag: -1,
		}
		if s.Active {
			s.Reader = string(v[8])
		}
		if v[11] != nil {
			s.SafeBytes = n.of(v[11])
		}
		if v[14] != nil {
			s.Lag = time.Duration(n.of(v[14])) * time.Microsecond
		}
		if s.Name == name {
			f.Slot = s
		} else {
			f.OtherSlots = append(f.OtherSlots, s)
		}
		return n.err
	}, slotsQuery, name)
}

// CheckpointFacts is a table of checkpoints.
type CheckpointFacts struct {
	Name      Name
	Found     bool
	Readable  bool
	Writable  bool
	Rows      int // -1: not readable
	Published Membership
}

func (f *Facts) inspectCheckpoints(ctx context.Context, c *Conn, in Interest) error {
	for _, text := range in.Checkpoints {
		name, err := ParseName(text)
		if err != nil {
			return err
		}
		t := CheckpointFacts{Name: name, Rows: -1}
		if err := t.inspect(ctx, c, in.Publication); err != nil {
			return err
		}
		f.Checkpoints = append(f.Checkpoints, t)
	}
	return nil
}

const checkpointRightsQuery = `SELECT has_table_privilege(c.oid, 'SELECT'), has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE'),
	EXISTS (SELECT FROM pg_publication_tables AS p WHERE p.pubname = $3 AND p.schemaname = $1 AND p.tablename = $2)
	FROM pg_class AS c WHERE` + ofTable

func (t *CheckpointFacts) inspect(ctx context.Context, c *Conn, publication string) error {
	err := c.Query(ctx, func(v [][]byte) error {
		t.Found, t.Readable, t.Writable, t.Published.In = true, yes(v[0]), yes(v[1]), yes(v[2])
		return nil
	}, checkpointRightsQuery, t.Name.Schema, t.Name.Table, publication)
	if err != nil || !t.Readable {
		return err
	}
	return c.Query(ctx, func(v [][]byte) (err error) {
		t.Rows, err = strconv.Atoi(string(v[0]))
		return err
	}, "SELECT count(*) FROM "+t.Name.SQL())
}

// ReplicaFacts is a standby that use cases read.
type ReplicaFacts struct {
	Standby    bool
	Checkpoint proxy.Time // T of the last one that it shows; 0: it shows none
	Clock      proxy.Time // what its own clock said
	Feedback   bool       // hot_standby_feedback
	SyncSlots  bool       // sync_replication_slots (17)
}

const replicaQuery = `SELECT pg_is_in_recovery(), (extract(epoch FROM clock_timestamp()) * 1000000)::int8,
	current_setting('hot_standby_feedback'), coalesce(current_setting('sync_replication_slots', true), 'off'),
	to_regclass('` + CheckpointTable + `') IS NOT NULL`

// InspectReplica looks at the standby that a URL names.
func InspectReplica(ctx context.Context, url string, o Options) (*ReplicaFacts, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	c, err := Dial(ctx, config, o)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	r, there := &ReplicaFacts{}, false
	err = c.Query(ctx, func(v [][]byte) error {
		n := numbers{}
		r.Standby, r.Clock = yes(v[0]), proxy.Time(n.of(v[1])*int64(time.Microsecond))
		r.Feedback, r.SyncSlots, there = string(v[2]) == "on", string(v[3]) == "on", yes(v[4])
		return n.err
	}, replicaQuery)
	if err == nil && there {
		err = c.Query(ctx, func(v [][]byte) error {
			n := numbers{}
			r.Checkpoint = proxy.Time(n.of(v[0]))
			return n.err
		}, checkpointRead)
	}
	if err != nil {
		return nil, fmt.Errorf("look at the replica: %w%s", err, mend(err))
	}
	return r, nil
}
