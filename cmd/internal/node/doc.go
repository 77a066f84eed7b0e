// Package node builds freshet out of its parts, and owns their life. It is the
// one package that knows concrete types; all others know interfaces of their
// own.
//
// [Node] is one node of the tier. A read goes from the server through the
// commands into the cache, and from there to the source; a change goes from
// the tail through the applier into the cache. Beside them a prober reads the
// source's clock, every 50 ms by default, and the admin port answers /metrics,
// /healthz, /readyz and pprof.
//
// Where a connector of Debezium ships the changes, what holds them back until
// they can be read stands between tail and applier, and its barrier between cache
// and source (debezium.go).
//
// Where a tier is configured, a route stands between commands and cache, and
// beside it the ways to the other nodes: a port for them, a pool of connections
// to them, and the membership, from each view of which a placement is made that
// reads look at without a lock (tier.go). Such a node starts, takes its place
// once it is ready and the tier has been heard of, measures its load, and before
// it stops says that it leaves, and waits until the others have taken that
// (join.go). What is wrong with the tier is told and keeps no node from serving.
// Nodes that read two databases answer nothing for each other (identity.go).
//
// [Relay] ships a source's changes to the stream. [Dev] is all of it in one
// process, with a sample database and a [Broker].
//
// Each of them is opened and then run: Open… does the I/O that can fail for a
// reason a person can mend (a file, a port), Run serves until its context ends
// and returns after its last goroutine has ended. At the end, parts stop in
// the reverse of the order in which they stand on each other: first clients
// get the replies to what they have sent, then the stream, the cache and the
// source end.
//
// A node serves before the stream is there, and while it is away: entries then
// live on their own as-of, which the contract allows. Readiness is apart from
// that, see ready.go.
//
// A server of a database that is not there yet is waited for, too.
//
// Read node.go first, then source.go, settings.go, memory.go, descriptors.go,
// listeners.go, users.go, seams.go, life.go, prober.go, ready.go, admin.go,
// inspect.go, audit.go and metrics.go; tier.go, directory.go, join.go, place.go,
// tell.go, peers.go, identity.go, occupancy.go, cluster.go, ring.go and picture.go;
// relay.go; dev.go with sample.go, sql.go and broker.go; and reach.go, for who looks
// at a deployment without being a part of it.
package node
