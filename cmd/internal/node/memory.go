package node

import (
	"log/slog"
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// LimitMemory gives the collector a soft limit that suits a budget for
// entries: half as much again for what stands around entries and for garbage,
// and a base for connections. In a container it is not above nine tenths of
// what the container may have, since who takes more is killed. A limit given
// by GOMEMLIMIT stays.
func LimitMemory(budget int64, log *slog.Logger) {
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return
	}
	const base = 128 << 20
	limit := budget + budget/2 + base
	if most := containerMemory() / 10 * 9; most < limit {
		limit = most
		if budget > most*2/3 {
			log.Warn("memory.budget leaves little of the container's memory for what stands around entries: lower it, or raise the container's limit",
				"budget", budget, "container", most/9*10)
		}
	}
	debug.SetMemoryLimit(limit)
}

// containerMemory is the limit of this process's control group, MaxInt64 where
// there is none.
func containerMemory() int64 {
	limit, err := memlimit.FromCgroup()
	if err != nil || limit > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(limit)
}
