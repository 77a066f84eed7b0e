package proxy

import (
	"time"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Freshness is what one read asks for. The zero Freshness asks for the use
// case's own bound.
type Freshness struct {
	MaxStale time.Duration // bound of this read; 0 means the use case's
	Strong   bool          // as fresh as a read of the source: never a hit, never joined
	Token    Time          // as-of must not be earlier; 0 asks nothing
}

// Request is one read of one key.
type Request struct {
	Key Key
	Freshness
	Unkept bool // another node owns the key: what is read for it is not kept here
	// Primary has the primary asked, also for a use case that reads replicas: set
	// by the cache, where a replica is too far behind.
	Primary bool
}

// Origin says where an answer came from.
type Origin uint8

// The origins of an answer.
const (
	FromFill  Origin = iota // read from the source for this request, or shared with one that was
	FromCache               // a hit: within the bound, no source involved
	FromStale               // outside the bound: the source is away and the use case prefers that
)

func (o Origin) String() string {
	return [...]string{"fill", "hit", "stale"}[o]
}

// Result answers one Request, and carries the proof with it.
type Result struct {
	Row      row.Row // the zero Row: no such row
	AsOf     Time    // no successor of this value was visible at AsOf
	Upper    Time    // the value was still known at or before Upper: what a session's token rises to
	Position Position
	Primary  Identity // who answered a read of the source; zero for a replica
	Horizon  uint64   // transactions below it had all ended when the source was read; 0: not told
	Pinned   bool     // AsOf never rises with the watermark
	Origin   Origin
	Err      error
}

// WriteOp is what a Write does.
type WriteOp uint8

// The write operations.
const (
	Put    WriteOp = iota // insert or update the row with Fields
	Delete                // delete the row
)

// Condition says when a Write is carried out. The source decides it, in the
// transaction of the write.
type Condition uint8

// The conditions of a write.
const (
	Always    Condition = iota
	IfAbsent            // Put: only if there is no such row
	IfPresent           // Put: only if there is one
)

// Write changes one row by its key.
type Write struct {
	Key    Key
	Op     WriteOp
	Fields []row.Field // Put: the columns to set, by name; key columns come from the key
	If     Condition
	Old    bool // answer with the row as it was before
	// Joined: in one transaction with the write before it in the same call.
	// Of writes so joined all are carried out or none, and one that fails
	// gives its error to all. A condition that does not hold is no failure.
	Joined bool
}

// Written answers one Write after the source has committed.
type Written struct {
	Done  bool    // the row was put or deleted: false if the condition did not hold, or there was no row to delete
	Old   row.Row // with Write.Old: the row as the write found it
	Token Time    // reads with this token see the write; set by the cache
	Err   error
}
