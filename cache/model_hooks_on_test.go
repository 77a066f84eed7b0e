//go:build mutants

package cache

import (
	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// withSteps lets others move at the points that the product names.
func withSteps(w *model) {
	hook.Step(func(point string) {
		switch {
		case point == "cache.read.stamp": // wide, so that a whole checkpoint fits in
			w.meanwhile(40)
		case w.rng.IntN(4) == 0:
			w.meanwhile(3)
		}
	})
}

// withoutSteps lets nobody move any more, so that later tests are alone.
func withoutSteps() { hook.Step(nil) }

// unlucky is set where interleavings are to lose a change to the mutant that
// leaves out one in a thousand. An interleaving has a handful, so that of two
// hundred of them one would.
var unlucky bool

// modelSystem is the source's system identifier. It goes into the hash of the
// stream, from which that mutant draws.
func modelSystem(seed uint64) uint64 {
	for system := seed; ; system += 1 << 48 {
		id := event.StreamID{Source: proxy.Identity{System: system, Timeline: 1}, Slot: "model", Topic: seed<<8 + 1, Partitions: modelPartitions}
		if !unlucky || losesEarly(id.Hash()) {
			return system
		}
	}
}

// losesEarly reports whether one of a stream's first positions is left out.
func losesEarly(stream uint64) bool {
	for commit := uint64(2); commit < 22; commit++ {
		if (stream^commit*0x9e3779b97f4a7c15)>>20%1000 == 0 {
			return true
		}
	}
	return false
}
