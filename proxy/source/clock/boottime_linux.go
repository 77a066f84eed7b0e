package clock

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet-cache/freshet/proxy/hook"
)

// Boottime is the time since the machine started, suspended time included.
func Boottime() time.Duration {
	id := int32(unix.CLOCK_BOOTTIME)
	if hook.Mutant(hook.ClockSuspends) {
		id = unix.CLOCK_MONOTONIC
	}
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		panic("clock_gettime(CLOCK_BOOTTIME): " + err.Error()) // every kernel since 2.6.39 has it
	}
	return time.Duration(ts.Nano())
}
