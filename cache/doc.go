// Package cache is the Source that remembers: it answers reads of another
// Source from memory as long as the bounded-staleness contract allows, and
// from that Source otherwise.
//
// # What it promises
//
// For every read that it answers under a bound Δ there is a moment, not
// earlier than Δ before the read was invoked, at which the answer was the
// committed, visible value of the key in the source. Nothing in it depends on
// the store remembering or forgetting anything: each entry carries the stamp
// and the epoch it was read under, and is void as soon as either moves.
//
//   - A stamp counts the changes that map to one of 2²⁰ slots of keys; every
//     change of the stream and every write through this node bumps it.
//   - An epoch counts, per use case, what touches all keys: truncates, schema
//     changes, gaps.
//   - An entry's as-of rises with the stream's watermark (lifted), unless it
//     is pinned: then it is a plain entry that lives for Δ.
//
// # How it reads
//
// [Cache.Load] answers hits on the caller's goroutine and allocates nothing
// for them. Keys that miss take their fill locks and go to the source
// together, detached from the caller. [Cache.Change] and [Cache.Void] are what
// the change stream calls. A hit needs no lock that all keys share.
//
// A read of what another node keeps ([proxy.Request].Unkept) is answered like any
// other, but a fill that only such reads share is not installed.
//
// What happened to a key lately is remembered ([Cache.Trace]): its fills, changes
// with partition and offset, voids and evictions, and of a key that is watched
// ([Cache.Watch]) its reads. It names keys by their hashes and has no values.
//
// Errors in a Result: [proxy.ErrUnavailable] when the source could not be read
// within the use case's timeout and on_unavailable is "error" or nothing young
// enough was at hand; the context's error when the caller left first; and what
// the source itself returned.
//
// Where a use case reads replicas, and one is further behind than a read bears, the
// primary is asked in its place ([proxy.Request].Primary); a STRONG read always.
//
// Read cache.go, then entry.go, stamp.go, read.go, fill.go, replica.go, keeping.go,
// change.go, write.go, explain.go, trace.go, tracetext.go, peek.go, memory.go; store and fill
// are its two parts.
package cache
