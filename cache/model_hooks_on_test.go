//go:build mutants

package cache

import "github.com/freshet-cache/freshet/proxy/hook"

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
