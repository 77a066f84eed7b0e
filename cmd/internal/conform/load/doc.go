// Package load is the traffic of a conformance run: writers that change rows
// in the database and through the nodes, readers that read them by every way
// there is, and probes that wait Δ and look. All of it is written down in a
// history, and what is drawn at random is drawn from one seed.
//
// Which version a write has made, and its place among the others, is told by
// the table's log. A write whose reply is missing is looked up there: at once
// if its order matters, otherwise by [Load.Settle] at the end, which also sees
// to it that no line of the log is left unexplained.
//
// One row has a key under each use case, so a write has as many records.
//
// A [Load] is made, then [Load.Seed] inserts the first rows, then [Load.Write]
// and [Load.Read] run as long as their contexts last, then Settle.
//
// Read load.go first, then keys.go, writers.go and settle.go; readers.go with
// batch.go and replies.go; session.go and probes.go; then echo.go, swing.go
// and shadow.go, which lie in wait for what hardly ever meets by chance.
package load
