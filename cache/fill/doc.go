// Package fill holds the fill locks: per key one fill runs and at most one
// waits behind it, however many reads want the value.
//
// The idea of one load per key is groupcache's and x/sync/singleflight's. Two
// things are added, because a value that is loaded may already be outdated
// when it arrives: a read says itself whether the running fill is fresh
// enough to share, and those for whom it is not share the next one, which is
// sent only when the running one has ended.
//
// The locks know nothing of values, stamps or clocks; they hand out flights
// of whatever type the caller has. Nobody waits inside: waiting is on the
// flight's own channel. All methods may be called concurrently.
package fill
