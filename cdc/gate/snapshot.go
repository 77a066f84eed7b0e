package gate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Snapshot is which of PostgreSQL's transactions a statement on the primary
// sees.
type Snapshot struct {
	Min, Max uint64   // all before Min have ended, none from Max on
	Running  []uint64 // of those between, the ones that had not
}

// ParseSnapshot reads what pg_current_snapshot() returns: min:max:running.
func ParseSnapshot(text string) (Snapshot, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return Snapshot{}, fmt.Errorf("%q is no snapshot", text)
	}
	numbers := parts[:2]
	if parts[2] != "" {
		numbers = append(numbers, strings.Split(parts[2], ",")...)
	}
	xids := make([]uint64, len(numbers))
	for i, n := range numbers {
		var err error
		if xids[i], err = strconv.ParseUint(n, 10, 64); err != nil {
			return Snapshot{}, fmt.Errorf("%q is no snapshot", text)
		}
	}
	return Snapshot{Min: xids[0], Max: xids[1], Running: xids[2:]}, nil
}

// Shows reports whether a transaction that was committed is visible. One that
// waits for a synchronous standby counts as running, whatever the log says.
func (s *Snapshot) Shows(xid uint64) bool {
	return xid < s.Min || xid < s.Max && !slices.Contains(s.Running, xid)
}

// Widen gives the 32 bits that a log has of a transaction's number the other
// 32. Numbers that are in use lie within 2³¹ of each other, so it is the one
// nearest to the snapshot's end.
func (s *Snapshot) Widen(xid uint32) uint64 {
	return s.Max + uint64(int64(int32(xid-uint32(s.Max))))
}
