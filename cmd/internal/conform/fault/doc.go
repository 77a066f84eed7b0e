// Package fault is when a conformance run disturbs what it tests: each fault
// by itself, then several at a time, drawn from a seed. What a fault does is
// the deployment's business; each is written into the history where it begins
// and where it ends.
//
// The run is calm at first, so that there is something to compare with, and at
// its end, so that it can be seen to recover.
//
// Read fault.go, then schedule.go.
package fault
