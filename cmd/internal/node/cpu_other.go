//go:build !unix

package node

import "time"

// cpuTime is not known: this node then reports no load.
func cpuTime() time.Duration { return 0 }
