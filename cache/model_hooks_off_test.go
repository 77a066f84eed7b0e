//go:build !mutants

package cache

// withSteps lets nobody move between two lines of the product in this build.
func withSteps(*model) {}

func withoutSteps() {}

// modelSystem is the source's system identifier.
func modelSystem(seed uint64) uint64 { return seed }
