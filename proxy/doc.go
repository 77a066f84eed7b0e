// Package proxy is the vocabulary of the pipeline: what a key is, how fresh a
// read must be, and the one interface everything that can answer a key has.
//
// A database is a [Source]. The cache is a Source that remembers, over a
// Source. A peer, a router are Sources too. A [Stage] wraps a Source into
// another, and never knows which other stages there are.
//
// Units and shapes: a key is "usecase:part[:part…]" and 1 to 512 bytes long
// ([MaxKeyBytes]); a [Time] is in nanoseconds of the source's own clock; a
// [Position] orders what one source committed. The bounded-staleness contract
// uses the same words: bound, as-of, position, token.
//
// Everything here is a value and safe to share once it is made. Read time.go
// first, then key.go, request.go, source.go, image.go and errors.go.
package proxy
