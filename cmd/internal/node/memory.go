package node

import (
	"math"
	"runtime/debug"
)

// LimitMemory gives the collector a soft limit that suits a budget for
// entries: half as much again for what stands around entries and for garbage,
// and a base for connections. A limit given by GOMEMLIMIT stays.
func LimitMemory(budget int64) {
	const base = 128 << 20
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(budget + budget/2 + base)
	}
}
