// Package command is what the front understands: the table of commands, and
// the logic of one connection ([Session]), apart from what carries its bytes.
//
// A Session turns the bytes of requests into the bytes of replies, in order.
// Consecutive reads of a pipeline become one Source.Load, consecutive writes
// one Source.Apply; a command of another kind first has answered what was
// gathered before it, so a connection reads its own writes. A hit allocates
// nothing: keys lie in the caller's read buffer, requests and results in
// slices that the Session keeps, and the row is appended to the replies.
//
// A use case of shape `row` is JSON to GET and a hash to the hash commands (a
// NULL column is a field that is not there). One of shape `column` is a string:
// that column's bytes, nil where it is NULL; EXISTS, TYPE and the conditions of
// SET ask for the row. A command of several keys that fails for one of them
// answers that error, never a false nil.
//
// Writes go through to the source, which decides their conditions, counts by the
// row as it found it, and carries out the writes of an MSET together; HSET puts
// the columns it names, HDEL makes them NULL. DEL deletes each key by itself.
//
// SCAN asks the source for keys, page by page. A row that is there from the
// first page to the last is listed; the pages are of different moments. Its
// cursors are numbers for places that this node remembers, some thousands of
// them (cursor.go).
//
// A reply's words on failure all stand in words.go. What cannot be honest is
// refused with the reason: an expiry, say, since the row lives in a database
// (refused.go).
//
// Transactions are refused in a way that carries out none of their commands:
// a client that sends MULTI, SET and EXEC in one pipeline would otherwise be
// told of a failure while the SET stands (multi.go).
//
// Who a connection is, [Users] says; until then it may call what the table
// gives to anyone, and its requests are held to the limits of strangers. The
// right a row of the table names is asked for each key of the command, before
// anything of it is carried out, and who has not got it learns neither whether
// the key is well spelled nor whether there is such a use case (rights.go).
//
// What a connection asks of all its reads are its guarantees: a bound, a token
// that they carry, a session. A read can add its own, as words of FRESHET.GET
// or behind its key ("users:42%?maxstale=500&token=17"): the tighter bound of
// its own or else the connection's or else the use case's, and the highest
// token. A connection's name may bring them ("app%?session&maxstale=500"), for
// clients that can send nothing else (freshness.go). In a session, two reads of
// one key never go to the source in one call (apart.go).
//
// Tokens, positions and times are decimal text, not RESP integers: they are
// above 2⁵³, where clients in JavaScript lose digits.
//
// A connection either forwards or redirects, as its listener says
// ([Session.Redirect]). Where it forwards, the Source answers for every key,
// whoever owns it, and CLUSTER is refused as by a Redis without a cluster.
// Where it redirects, it is for clients of Redis Cluster: CLUSTER SLOTS, SHARDS
// and NODES tell the [Topology], and a command whose keys are all with one
// other node is answered MOVED, in its turn. Everything else is served: keys of
// several slots or of several nodes (there is no CROSSSLOT), keys of a node
// that clients cannot be sent to, or that has its slot for so short a time that
// it may not know yet, and all reads of a connection that is READONLY. So a
// MOVED is advice, and a client that does not know the owner is never turned
// away for good (redirect.go, topology.go, cluster.go). When a node leaves or is
// lost, each connection is told once that a key is where it asks for it: clients
// take a MOVED for a sign that their table is old, and the end of connections they
// do not.
//
// The slot that counts is that of the key as it was sent, options behind it and
// all, because that is what clients compute it of. And what a connection asks of
// its reads is of that connection: a client of a cluster has some to each node.
// A session given by the connection's name is then one for each of them. It
// keeps the reads of a key in order as long as the key's node stays the same
// and the client has one connection to it; a token, raised with FRESHET.TOKEN
// or sent behind the key, holds on every node.
//
// SCAN and DBSIZE ask one node: SCAN lists all keys at each, and DBSIZE counts
// what that node holds.
//
// [Commands] may be used concurrently; a Session by one goroutine at a time.
//
// Read command.go first, then table.go, session.go, gather.go, rights.go,
// behalf.go, freshness.go, apart.go, topology.go, redirect.go, and then the
// commands themselves: read.go, key.go, hash.go, write.go, hashwrite.go, scan.go,
// freshet.go, guarantee.go, hello.go, connection.go, clients.go, kill.go, quiet.go,
// multi.go, cluster.go, about.go, help.go, info.go. number.go and glob.go read
// numbers and patterns as Redis does.
package command
