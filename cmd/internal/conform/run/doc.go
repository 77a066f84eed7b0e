// Package run is one conformance run against a deployment: it lets the load
// go on, has the nodes' counters and the source's clock read all the while,
// makes the faults happen, and writes all of it into a history.
//
// Read run.go, then sampler.go and metrics.go.
package run
