package postgres

import (
	"cmp"
	"time"
)

// Options of a log.
type Options struct {
	URL                string        // of the primary, as libpq reads it; no pooler may stand in front of it
	Slot               string        // the replication slot: lower-case letters, digits, "_"
	Publication        string        // the publication that has the mapped tables
	CheckpointInterval time.Duration // between two checkpoints; 0: 100 ms
	CheckpointTable    bool          // write each checkpoint's T into the source's checkpoint table: for those who read replicas
	KeysOnly           bool          // keep rows out of the topic: a change then drops an entry and cannot replace it
	Failover           bool          // keep the slot on standbys (PostgreSQL 17), so that a promotion finds it
	ConnectTimeout     time.Duration // 0: 5 s
}

func (o Options) withDefaults() Options {
	o.CheckpointInterval = cmp.Or(o.CheckpointInterval, 100*time.Millisecond)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 5*time.Second)
	return o
}
