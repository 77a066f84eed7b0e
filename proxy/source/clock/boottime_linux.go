package clock

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet-cache/freshet/proxy/hook"
)

// Boottime is the time since the machine started, suspended time included.
func Boottime() time.Duration { return boottime(kernel) }

// boottime asks for the one clock that counts suspended time.
func boottime(read func(id int32) time.Duration) time.Duration {
	if hook.Mutant(hook.ClockSuspends) {
		return read(unix.CLOCK_MONOTONIC)
	}
	return read(unix.CLOCK_BOOTTIME)
}

func kernel(id int32) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		panic("clock_gettime(CLOCK_BOOTTIME): " + err.Error()) // every kernel since 2.6.39 has it
	}
	return time.Duration(ts.Nano())
}
