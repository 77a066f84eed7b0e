//go:build unix

package node

import (
	"math"
	"syscall"
)

// descriptors returns how many this process may have open. The runtime has
// already raised the soft limit to the hard one.
func descriptors() uint64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return math.MaxUint64
	}
	return uint64(r.Cur) // signed on some systems
}
