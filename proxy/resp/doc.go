// Package resp speaks the Redis serialization protocol, versions 2 and 3: a
// [Parser] of requests and a [Writer] of replies. Both work on byte slices
// and do no I/O.
//
// The parser is incremental (a request may arrive in any pieces), iterative,
// and bounded by [Limits]; it never allocates by an announced length, and
// memory follows the bytes that have come. Its arguments lie in the caller's
// buffer: they are valid while those bytes stay where they are, their slice
// until the next call of Next. In steady state it allocates nothing; only the
// quoted arguments of an inline request are copied. Whoever has not said who
// he is can be held to smaller limits ([Parser.Restrict]).
//
// What a request may look like, and the words of each [ProtocolError], are
// those of Redis 7.0.15, except: a line that cannot become a number is refused
// at its first wrong byte and not at its end, a NUL in an inline request is
// refused, and a request has a size limit as a whole. After a ProtocolError
// nothing in the stream can be trusted, and the connection must be closed.
//
// Neither type may be used concurrently. Read parser.go, inline.go, writer.go.
package resp
