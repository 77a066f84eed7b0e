package proxy

import (
	"math"
	"strings"
	"time"
)

// Time is a moment of a source's clock: nanoseconds since the Unix epoch as
// that source itself tells it. Times of two sources do not compare.
type Time int64

// Never is minus infinity: earlier than every Time a source can tell. A
// watermark starts there, and so does the as-of of what proves nothing.
const Never Time = math.MinInt64

// Forever is plus infinity: the upper end of a clock nobody has read yet.
const Forever Time = math.MaxInt64

// Add returns t moved by d. Never and Forever stay what they are.
func (t Time) Add(d time.Duration) Time {
	if t == Never || t == Forever {
		return t
	}
	return t + Time(d)
}

// Sub returns t − u, saturating: from Never it is the longest duration back,
// so an age computed from Never is above every bound.
func (t Time) Sub(u Time) time.Duration {
	switch {
	case t == Forever || u == Never:
		return math.MaxInt64
	case t == Never || u == Forever:
		return math.MinInt64
	}
	return time.Duration(t - u)
}

// AgeText says for a person how long before now a moment was. It is ASCII:
// redis-cli shows everything else as escapes.
func AgeText(now, then Time) string {
	if now == Forever || then == Never {
		return "unknown"
	}
	return strings.Replace(now.Sub(then).Round(time.Microsecond).String(), "µ", "u", 1)
}

// TimeText says for a person when a moment was, by the source's clock.
func TimeText(t Time) string {
	if t == Never || t == Forever {
		return "unknown"
	}
	return time.Unix(0, int64(t)).UTC().Format("2006-01-02T15:04:05.000000Z")
}

// Position orders the changes and checkpoints of one source: first by the
// place of the commit in the source's log, then within that commit. The zero
// Position means "not known" and precedes every other.
type Position struct {
	Commit uint64
	Seq    uint64
}

// Compare returns -1, 0 or +1 as p lies before, at or behind q.
func (p Position) Compare(q Position) int {
	switch {
	case p.Commit < q.Commit:
		return -1
	case p.Commit > q.Commit:
		return +1
	case p.Seq < q.Seq:
		return -1
	case p.Seq > q.Seq:
		return +1
	}
	return 0
}

// Known reports whether p says anything.
func (p Position) Known() bool { return p != Position{} }

// Identity names the primary that answered: two answers with the same Identity
// come from one unbroken history. For PostgreSQL these are the system
// identifier, the timeline and when the server last began anew; for SQLite an
// identifier kept in the file and its incarnation. The zero Identity is no
// primary (a replica, or nobody).
type Identity struct {
	System   uint64
	Timeline uint64
	Started  int64
}

// Known reports whether a primary was found at all.
func (id Identity) Known() bool { return id != Identity{} }

// Precedes reports whether id is an older life of the same source than other:
// an earlier timeline, or an earlier start of the same one.
func (id Identity) Precedes(other Identity) bool {
	if id.System != other.System {
		return false
	}
	if id.Timeline != other.Timeline {
		return id.Timeline < other.Timeline
	}
	return id.Started < other.Started
}
