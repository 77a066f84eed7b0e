// Package peer lets the nodes of a tier talk to each other. A [Pool] is the
// client end: it has a [Peer] per address, which answers reads in the place of
// a source, forgets keys, and says what it is. A [Server] is the server end,
// and asks its node through [Handler].
//
// # What it promises
//
// An answer belongs to the request it is given for, whatever the order in which
// replies come and whoever has left. A call that returns an error was not
// answered; it may have been worked on, which is harmless: reads and forgets
// change nothing. No call waits longer than its context. What a peer answers is
// checked when it is decoded: rows are rows, or the connection ends.
//
// Errors: [ErrAway], [ErrFull], [ErrUseCase], and the context's own. An error of
// one key is in its Result, as the errors of package proxy that classes are made
// of (fault.go); any other error of a node is proxy.ErrUnavailable at its
// client. Result.Primary does not travel: it means something only to who reads
// the source.
//
// # The protocol
//
// Frames over TCP, or over TLS: length (4 bytes, big-endian), kind (1 byte), body.
// Numbers are varints where they are small, texts have their length in front.
//
// The handshake: each end says eight bytes of magic and a hello (versions, name,
// instance, tier, nonce, database), so both see what keeps them apart and both say
// it ([RefusedError]): two databases among it, or that one end does not know its
// own yet, as then one's rows could be wrong answers of the other. Then, where there is a key, each proves that it has it
// (auth.go), the client first. Then each tells what its use cases mean: what is
// not the same at both ends is not asked for. The version is the newest that
// both speak; a build speaks its own and the one before. A key proves who is
// there and does not hide what is said: that takes TLS, to whose session proofs
// are bound.
//
// Requests have a number that is never used again on their connection, a hop
// count (more than one is refused), the client's table of owners (version and
// checksum), the time that is left, and the caller. Replies have the number and
// the server's table, which an idle connection brings, too: a ping is answered
// with it. (A build of before answers with nothing.) Tables that differ are
// counted at both ends. Who owns a key decides about no answer; but clients are
// better not sent to a peer whose table is another ([Peer.Doubted]), and what
// differs for longer than a minute is a problem ([Pool.Problems]).
//
// A row is the number of its schema and its bytes. A server tells a schema once,
// in front of the first row; a connection that knows too many is renewed.
//
// A server that leaves says goodbye and goes on; the client says it back behind
// its last request, and sends the next ones elsewhere. So nothing is lost that
// was sent, and no call fails.
//
// # Limits
//
// Who has not shown that it is a peer may say frames of 1 KiB (a table: 1 MiB,
// once it has proven the key) and has [Options.Handshake] for all; 256 such may
// be there at once. No memory is taken by an announced length. Requests to one
// peer are bounded in number and bytes, callers of low priority to half of it;
// requests that a server works on are bounded per connection. What is beyond
// fails at once. A peer that does not answer is left alone for a while
// (breaker.go), and a connection on which nothing comes is given up after three
// pings.
//
// [Pool] and [Server] are prometheus.Collectors: whoever wires them registers
// them.
//
// Read options.go, then the words: frame.go, hello.go, auth.go, handshake.go,
// request.go, reply.go, schema.go, fault.go; the client end: pool.go, peer.go,
// ask.go, call.go, conn.go, breaker.go, reach.go; the server end: server.go, inbound.go,
// job.go; and for both outbox.go and metrics.go.
package peer
