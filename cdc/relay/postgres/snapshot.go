package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// snapshot is which transactions a statement on the primary sees.
type snapshot struct {
	min, max uint64   // all before min have ended, none from max on
	running  []uint64 // of those between, the ones that had not
}

// parseSnapshot reads what pg_current_snapshot() returns: min:max:running.
func parseSnapshot(text string) (snapshot, error) {
	var s snapshot
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return s, fmt.Errorf("%q is no snapshot", text)
	}
	numbers := parts[:2]
	if parts[2] != "" {
		numbers = append(numbers, strings.Split(parts[2], ",")...)
	}
	for _, n := range numbers {
		xid, err := strconv.ParseUint(n, 10, 64)
		if err != nil {
			return s, fmt.Errorf("%q is no snapshot", text)
		}
		s.running = append(s.running, xid)
	}
	s.min, s.max, s.running = s.running[0], s.running[1], s.running[2:]
	return s, nil
}

// shows reports whether a transaction that was committed is visible. One that
// waits for a synchronous standby counts as running, whatever the log says.
func (s *snapshot) shows(xid uint64) bool {
	return xid < s.min || xid < s.max && !slices.Contains(s.running, xid)
}

// widen gives the 32 bits that the log has of a transaction's number the other
// 32. Numbers that are in use lie within 2³¹ of each other, so it is the one
// nearest to the snapshot's end.
func (s *snapshot) widen(xid uint32) uint64 {
	return s.max + uint64(int64(int32(xid-uint32(s.max))))
}
