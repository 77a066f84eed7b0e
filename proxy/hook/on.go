//go:build mutants

package hook

import "sync/atomic"

var (
	current atomic.Uint32
	step    atomic.Pointer[func(string)]
)

// Mutant reports whether mutant m is switched on.
func Mutant(m M) bool { return M(current.Load()) == m }

// At calls the test's step function, if there is one.
func At(point string) {
	if f := step.Load(); f != nil {
		(*f)(point)
	}
}

// Set switches one mutant on (None: all off).
func Set(m M) { current.Store(uint32(m)) }

// Step installs what At calls; nil removes it.
func Step(f func(point string)) {
	if f == nil {
		step.Store(nil)
		return
	}
	step.Store(&f)
}
