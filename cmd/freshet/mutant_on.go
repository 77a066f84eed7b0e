//go:build mutants

package main

import (
	"flag"

	"github.com/freshet-cache/freshet/cmd/internal/conform/part"
)

// mutantFlag lets the parts of a run be without one rule of the contract.
func mutantFlag(f *flag.FlagSet) *string {
	return f.String("mutant", "", "the rule of the contract that is left out; \"none\": the same build with all of them")
}

func mutate(name string) error {
	if name == "" {
		return nil
	}
	return part.Mutate(name)
}
