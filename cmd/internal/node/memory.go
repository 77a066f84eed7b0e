package node

import (
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/freshet-cache/freshet/cmd/internal/config"
)

// bareMemory is what a node takes that holds no entry and has few clients, and
// what of its program has to be in memory.
const bareMemory = 32 << 20

// leastBudget is the least that memory.budget may be.
const leastBudget = 8 << 20

// LimitMemory gives the collector a soft limit that suits a budget for
// entries: half as much again for what stands around entries and for garbage,
// and a base for connections. In a container it is not above nine tenths of
// what the container may have, since who takes more is killed, without a word.
// A budget that such a container cannot hold is refused for that reason. A limit
// given by GOMEMLIMIT stays.
func LimitMemory(budget int64, log *slog.Logger) error {
	container := containerMemory()
	if err := fits(budget, container); err != nil {
		return err
	}
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return nil
	}
	const base = 128 << 20
	limit := budget + budget/2 + base
	if most := container / 10 * 9; most < limit {
		limit = most
		if budget > most*2/3 {
			log.Warn("memory.budget leaves little of the container's memory for what stands around entries: lower it, or raise the container's limit",
				"budget", budget, "container", container)
		}
	}
	debug.SetMemoryLimit(limit)
	return nil
}

// KeepToContainer has the collector keep to nine tenths of what the container may
// have, if there is one. It is for what holds no entries, or has no budget.
func KeepToContainer() {
	if container := containerMemory(); container != math.MaxInt64 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(container / 10 * 9)
	}
}

// fits says what to do about a budget that a container cannot hold.
func fits(budget, container int64) error {
	room := container - bareMemory
	if budget <= room {
		return nil
	}
	mib := func(n int64) config.Size { return config.Size(n >> 20 << 20) }
	least := mib(budget + bareMemory + 1<<20 - 1)
	lower := ""
	if room >= leastBudget {
		lower = fmt.Sprintf("; or lower memory.budget to %s", mib(room))
	}
	return fmt.Errorf("memory.budget: %s of entries do not fit into a container that may have %s: give it %s or more (mem_limit, resources.limits.memory, MemoryMax)%s",
		config.Size(budget), mib(container), least, lower)
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
