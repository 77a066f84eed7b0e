//go:build !mutants

package main

import "flag"

// mutantFlag is no flag: the product has no mutants.
func mutantFlag(*flag.FlagSet) *string { return new(string) }

func mutate(string) error { return nil }
