// Package sourcetest is what every source at the end of the chain has to
// pass: [Run] takes a function that makes a fixture, a source over empty
// tables with the use cases named by this package's constants.
package sourcetest
