// Package server carries the bytes of connections: it accepts them, reads
// into one buffer each, has a command.Session turn requests into replies, and
// writes those once per batch read. What the bytes mean it does not know.
//
// A goroutine per connection, and a second one only while a peer does not take
// its replies (outbox.go): requests are still read and answered then, so that
// a client may write a long pipeline before it reads, up to a bound; beyond
// it the connection is no longer read, and a peer that takes nothing for the
// write timeout is closed. A buffer grows with the bytes that have come, never
// by an announced length, and shrinks when it is empty.
//
// A server has any number of listeners, and one budget of connections for all.
// Each says whether its clients are told which node owns a key.
//
// Where clients have to say who they are, one that has not is held to smaller
// limits: those of [command.Options] for its requests, and a time and an output
// of its own here.
//
// While a command waits for the source, its connection is not read, and yet a
// client that leaves is noticed and its wait ended (watch.go, on Linux): the
// goroutine and the place among the connections are for those who are there.
// A client that closes only its sending side looks the same, and so has between
// a quarter and half a second from there until its last answer begins.
//
// Nothing a client sends ends the process: a panic closes its connection and
// is counted, and an accept that fails (no descriptors left) is tried again
// with growing pauses. Connections beyond the limit are told so and closed.
//
// When the context of Run ends, the listeners close, each connection answers
// the batch it has read and closes, and what is not done after the drain
// timeout is cut off. Run returns after the last goroutine has ended.
//
// Read server.go, then conn.go, outbox.go, watch.go and metrics.go.
package server
