// Package route is the Source that picks one: the own path to a key, or the node
// that owns it.
//
// # What it promises
//
// It adds nothing to the staleness contract and takes nothing from it: every
// node follows the whole stream, so an answer is within its bound whichever node
// gives it. Ownership is for hit rate and source load. What it must see to itself:
//
//   - Replies are in the order of the requests, and each request has one.
//   - A request goes over one hop at most: [Forwarded] never goes on to a third
//     node, however the rings differ.
//   - No read waits longer than its use case's timeout. The own path is asked at
//     once if the owner is away, has too much to do, does not know the key so, or
//     cannot read the source; and if it has not answered in half of that time,
//     beside it: who is first counts (beside.go).
//   - Nothing of another node's answer is kept. What is read here for a key of
//     another node is not kept either (proxy.Request.Unkept), unless the key is hot.
//   - A key of which many reads come here is hot and read by the own path like an
//     own key, under the same contract, so that no key is limited by one node.
//   - A read on any connection to this node sees the writes that were answered on
//     this node before (contract 7.3), whatever happens to their owners.
//   - Writes are carried out here. None depends on another node's health, and
//     joined ones stay one transaction.
//
// # How a node reads its own writes
//
// A write bumps the own stamp, so the own path is right at once. For keys of
// others two things are done before the write is answered: a floor is noted, a
// token that every read of the key carries from then on to whoever answers it
// (floor.go); and the owner is told to forget the key, so that clients of other
// nodes see the write soon, too. The floor alone is enough for this node's reads:
//
// A Forget that fails:
//
//  1. a client writes k through A; B, its owner, does not hear the Forget
//  2. the client reads k through A; A sends it to B with the floor as its token
//  3. B's entry is lifted to a watermark before the floor: B fills, and answers
//     with the write. Had the stream brought the change already, the watermark
//     would be past it, and the entry replaced
//
// A ring that changes:
//
//  1. a client writes k through A; B, its owner, forgets it
//  2. the ring changes; C owns k, and still has an entry of when it did before
//  3. the client reads k through A; the floor goes to C as it would have to B
//
// An older fill:
//
//  1. B begins a fill of k, as of t1
//  2. a client writes k through A: its token is later than t1
//  3. the client reads k through A; at B the read finds the fill under way. It must
//     not share it, and does not: a read joins a sent fill only if that is as of its
//     token or later. It shares the next one
//
// A write that is slow to be forgotten, and a read that overtakes: both are of
// the same node, and the floor is noted before the write is answered; a read
// that comes before the answer may have either value.
//
// Several owners: an MSET is one transaction here; its keys are forgotten at all
// owners at once, and each has its floor. A read of all of them is split, and each
// part carries its own floors.
//
// A session: its token rises with every answer to the moment at which the answering
// node knew the value, and it may be above the floor; the higher of the two
// goes along. Without a session a key that ceases to be hot may be answered from
// its owner as of a moment before the last answer: the contract allows it.
//
// # Figures
//
// By bench_test.go, over the real cache and rings of three nodes, the least of a
// dozen runs or more on two busy cores:
//
//	hits of own keys              without a Route       with it
//	one key                               105 ns         189 ns
//	sixteen keys, each                     55 ns          91 ns, no allocation
//	keys of others, peers that take no time
//	one key                                              0.7 µs, 8 allocations
//	sixteen keys at two peers                            4.8 µs, 16 allocations
//	eight own, eight others                               15 µs, 18 allocations
//
// (The times are of before two allocations more for each peer came to be.) The
// allocations are those of contexts, timers and goroutines: none is per key. A Route
// takes 290 KiB, of which 256 are floors, and up to 2.3 MiB for the list of keys
// that are read most.
//
// # Use
//
// New does no I/O, and nothing runs by itself. All methods may be called
// concurrently. A node that is alone has no Route at all. A batch of own keys
// costs one look at the placement per key and allocates nothing.
//
// Metrics: a Route is a collector that its node registers. [Route.Hottest] and
// [Route.Warm] are the two ends of a warm-up: the old owners' keys, and their new
// owner.
//
// Read route.go, batch.go, ask.go, beside.go, then write.go, floor.go, forwarded.go,
// warm.go, metrics.go.
package route
