package postgres

import (
	"cmp"
	"strconv"
	"time"
)

// Options say which database, and how hard it may be used.
type Options struct {
	URL              string        // of the primary, as libpq reads it
	Replicas         []string      // URLs of replicas, for the use cases that read them
	Pool             int           // connections to each server; 0: 8
	ConnectTimeout   time.Duration // 0: 5 s
	AcquireTimeout   time.Duration // how long a call waits for a free connection; 0: 1 s
	StatementTimeout time.Duration // after which the server ends a statement; 0: 5 s
}

func (o Options) withDefaults() Options {
	o.Pool = cmp.Or(o.Pool, 8)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 5*time.Second)
	o.AcquireTimeout = cmp.Or(o.AcquireTimeout, time.Second)
	o.StatementTimeout = cmp.Or(o.StatementTimeout, 5*time.Second)
	return o
}

// milliseconds is a duration as PostgreSQL's settings take it, at least one:
// zero would be none.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10)
}
