//go:build unix

package node

import (
	"syscall"
	"time"
)

// cpuTime is how long this process has worked, on all cores together.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
