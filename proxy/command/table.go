package command

// transactions is the group of the commands that end one.
const transactions = "transactions"

// kind says how a command runs in a pipeline.
type kind uint8

const (
	alone  kind = iota // by itself, after all before it is answered
	reads              // together with the reads beside it
	writes             // together with the writes beside it
	lists              // by itself, when all before it is answered
)

// command is one row of the table. Its name is lower case.
type command struct {
	name    string
	arity   int // number of words with the name; −n: at least n
	kind    kind
	flags   string // Redis' words for how it behaves, as COMMAND INFO gives them
	keys    [3]int // first, last (−1: the last word) and step; zero: none
	right   right  // who may call it
	group   string
	summary string
	run     func(s *Session, args [][]byte)
	subs    []command // by the second word
	full    string    // the name with that of the command it is a subcommand of
	index   int       // of its counter, which its subcommands share
}

func table() []command {
	const (
		str, hash, generic   = "string", "hash", "generic"
		conn, server, freshn = "connection", "server", "freshet"
		cluster              = "cluster"
		read                 = "readonly fast"
	)
	one, all, pairs := [3]int{1, 1, 1}, [3]int{1, -1, 1}, [3]int{1, -1, 2}
	return []command{
		{name: "get", arity: 2, kind: reads, flags: read, keys: one, right: reader, group: str, run: (*Session).get, summary: "The value of a key: a column, or a row as JSON."},
		{name: "mget", arity: -2, kind: reads, flags: read, keys: all, right: reader, group: str, run: (*Session).mget, summary: "The values of several keys."},
		{name: "exists", arity: -2, kind: reads, flags: read, keys: all, right: reader, group: generic, run: (*Session).exists, summary: "How many of the keys have a row."},
		{name: "strlen", arity: 2, kind: reads, flags: read, keys: one, right: reader, group: str, run: (*Session).strlen, summary: "How long what GET gives is, in bytes."},
		{name: "getrange", arity: 4, kind: reads, flags: "readonly", keys: one, right: reader, group: str, run: (*Session).getRange, summary: "A part of what GET gives."},
		{name: "touch", arity: -2, kind: reads, flags: read, keys: all, right: reader, group: generic, run: (*Session).exists, summary: "How many of the keys have a row, which this reads."},
		{name: "type", arity: 2, kind: reads, flags: read, keys: one, right: reader, group: generic, run: (*Session).typeOf, summary: "string for a column, hash for a row, none where there is no row."},
		{name: "ttl", arity: 2, kind: reads, flags: read, keys: one, right: reader, group: generic, run: (*Session).ttl, summary: "-1, as keys do not expire, or -2 where there is no row."},
		{name: "pttl", arity: 2, kind: reads, flags: read, keys: one, right: reader, group: generic, run: (*Session).ttl, summary: "The same as TTL."},
		{name: "hget", arity: 3, kind: reads, flags: read, keys: one, right: reader, group: hash, run: (*Session).hget, summary: "One column of a row."},
		{name: "hmget", arity: -3, kind: reads, flags: read, keys: one, right: reader, group: hash, run: (*Session).hmget, summary: "Several columns of a row."},
		{name: "hgetall", arity: 2, kind: reads, flags: "readonly", keys: one, right: reader, group: hash, run: (*Session).hgetall, summary: "All columns of a row that are not NULL."},
		{name: "hkeys", arity: 2, kind: reads, flags: "readonly", keys: one, right: reader, group: hash, run: (*Session).hkeys, summary: "The names of the columns that are not NULL."},
		{name: "hvals", arity: 2, kind: reads, flags: "readonly", keys: one, right: reader, group: hash, run: (*Session).hvals, summary: "The values of the columns that are not NULL."},
		{name: "hlen", arity: 2, kind: reads, flags: read, keys: one, right: reader, group: hash, run: (*Session).hlen, summary: "How many columns are not NULL."},
		{name: "hexists", arity: 3, kind: reads, flags: read, keys: one, right: reader, group: hash, run: (*Session).hexists, summary: "Whether a column is not NULL."},
		{name: "hstrlen", arity: 3, kind: reads, flags: read, keys: one, right: reader, group: hash, run: (*Session).hstrlen, summary: "How long a column is, in bytes."},
		{name: "hscan", arity: -3, kind: reads, flags: "readonly", keys: one, right: reader, group: hash, run: (*Session).hscan, summary: "The columns of a row that are not NULL, in one page, with MATCH."},
		{name: "set", arity: -3, kind: writes, flags: "write", keys: one, right: writer, group: str, run: (*Session).set, summary: "Writes a column through to the database, inserting the row if there is none; NX, XX and GET are decided by the database."},
		{name: "setnx", arity: 3, kind: writes, flags: "write", keys: one, right: writer, group: str, run: (*Session).setNX, summary: "Writes a column of a row that is not there yet."},
		{name: "getset", arity: 3, kind: writes, flags: "write", keys: one, right: writer, group: str, run: (*Session).getSet, summary: "Writes a column and answers what it was."},
		{name: "mset", arity: -3, kind: writes, flags: "write", keys: pairs, right: writer, group: str, run: (*Session).mset, summary: "Writes several columns in one transaction: all or none."},
		{name: "getdel", arity: 2, kind: writes, flags: "write", keys: one, right: writer, group: str, run: (*Session).getDel, summary: "Deletes a row and answers its column."},
		{name: "hset", arity: -4, kind: writes, flags: "write", keys: one, right: writer, group: hash, run: (*Session).hset, summary: "Writes columns of a row, inserting it if there is none; answers how many were NULL."},
		{name: "hmset", arity: -4, kind: writes, flags: "write", keys: one, right: writer, group: hash, run: (*Session).hmset, summary: "HSET that answers OK."},
		{name: "hdel", arity: -3, kind: writes, flags: "write", keys: one, right: writer, group: hash, run: (*Session).hdel, summary: "Makes columns NULL; answers how many were not."},
		{name: "scan", arity: -2, kind: lists, flags: "readonly", right: known, group: generic, run: (*Session).scan, summary: "Lists keys by asking the database, with MATCH, COUNT and TYPE: of the use case that MATCH names, or of all."},
		{name: "del", arity: -2, kind: writes, flags: "write", keys: all, right: writer, group: generic, run: (*Session).del, summary: "Deletes rows in the database, each by itself."},
		{name: "unlink", arity: -2, kind: writes, flags: "write", keys: all, right: writer, group: generic, run: (*Session).del, summary: "The same as DEL."},

		{name: "freshet.get", arity: -2, kind: reads, flags: read, keys: one, right: reader, group: freshn, run: (*Session).freshGet, summary: "GET with MAXSTALE ms, STRONG or TOKEN t; PROOF adds version, as-of, bound and origin."},
		{name: "freshet.token", arity: -1, flags: "fast", right: known, group: freshn, run: (*Session).freshToken, summary: "The token of this connection's last write, or in a session of all it has seen; a token given raises it, and reads carry that."},
		{name: "freshet.session", arity: 2, flags: "fast", right: known, group: freshn, run: (*Session).freshSession, summary: "ON: no read of this connection is older than what it has read or written before. OFF ends that."},
		{name: "freshet.maxstale", arity: 2, flags: "fast", right: known, group: freshn, run: (*Session).freshMaxStale, summary: "The bound of this connection's reads in milliseconds, 0 as fresh as the database; OFF: that of each use case."},
		{name: "freshet.proof", arity: 2, flags: "fast", right: known, group: freshn, run: (*Session).freshProof, summary: "ON: in RESP3, replies to reads carry version, as-of, bound and origin as attributes."},
		{name: "freshet.explain", arity: 2, flags: "readonly", keys: one, right: reader, group: freshn, run: (*Session).freshExplain, summary: "What a read of the key would find now."},
		{name: "freshet.invalidate", arity: -2, flags: "admin", keys: one, right: admin, group: freshn, run: (*Session).freshInvalidate, summary: "Drops the entry of a key, or with USECASE name all of a use case, at all nodes."},
		{name: "freshet.lag", arity: 1, flags: "readonly admin", right: admin, group: freshn, run: (*Session).freshLag, summary: "How far behind its sources this node is."},

		{name: "ping", arity: -1, flags: "fast", right: known, group: conn, run: (*Session).ping, summary: "Answers PONG, or the message."},
		{name: "echo", arity: 2, flags: "fast", right: known, group: conn, run: (*Session).echo, summary: "Answers the message."},
		{name: "hello", arity: -1, flags: "fast no_auth", right: anyone, group: conn, run: (*Session).hello, summary: "Chooses the protocol version."},
		{name: "auth", arity: -2, flags: "fast no_auth", right: anyone, group: conn, run: (*Session).auth, summary: "Says who one is: a user and a password, or that of the user default."},
		{name: "select", arity: 2, flags: "fast", right: known, group: conn, run: (*Session).selectDB, summary: "Accepts database 0, the only one."},
		{name: "quit", arity: -1, flags: "fast no_auth", right: anyone, group: conn, run: (*Session).quit, summary: "Closes the connection."},
		{name: "reset", arity: 1, flags: "fast no_auth", right: anyone, group: conn, run: (*Session).resetConn, summary: "Makes the connection as new."},
		{name: "client", arity: -2, group: conn, summary: "About this connection.", subs: []command{
			{name: "id", arity: 2, flags: "fast", right: known, group: conn, run: (*Session).clientID, summary: "The connection's number."},
			{name: "getname", arity: 2, flags: "fast", right: known, group: conn, run: (*Session).clientGetName, summary: "The connection's name."},
			{name: "setname", arity: 3, flags: "fast", right: known, group: conn, run: (*Session).clientSetName, summary: "Names the connection."},
			{name: "setinfo", arity: 4, flags: "fast", right: known, group: conn, run: (*Session).clientSetInfo, summary: "Tells LIB-NAME or LIB-VER of the client's library."},
			{name: "info", arity: 2, right: known, group: conn, run: (*Session).clientInfo, summary: "Describes this connection."},
			{name: "list", arity: -2, flags: "admin", right: admin, group: conn, run: (*Session).clientList, summary: "Describes the connections of this node."},
			{name: "kill", arity: -3, flags: "admin", right: admin, group: conn, run: (*Session).clientKill, summary: "Closes connections."},
			{name: "reply", arity: 3, right: known, group: conn, run: (*Session).clientReply, summary: "OFF: no replies any more; SKIP: none to the next command; ON: replies again."},
			{name: "no-evict", arity: 3, right: known, group: conn, run: (*Session).clientFlag, summary: "Accepted: no connection is closed to save memory."},
			{name: "no-touch", arity: 3, right: known, group: conn, run: (*Session).clientFlag, summary: "Accepted, and changes nothing."},
		}},

		{name: "multi", arity: 1, flags: "fast", right: known, group: transactions, run: (*Session).multi, summary: "Begins what will be refused: transactions are not offered."},
		{name: "exec", arity: 1, right: known, group: transactions, run: (*Session).exec, summary: "Refuses the transaction."},
		{name: "discard", arity: 1, flags: "fast", right: known, group: transactions, run: (*Session).discard, summary: "Leaves the transaction."},

		{name: "command", arity: -1, flags: "readonly", right: known, group: server, run: (*Session).commandAll, summary: "About the commands.", subs: []command{
			{name: "count", arity: 2, flags: "fast", right: known, group: server, run: (*Session).commandCount, summary: "How many commands there are."},
			{name: "docs", arity: -2, flags: "readonly", right: known, group: server, run: (*Session).commandDocs, summary: "What commands are for."},
			{name: "info", arity: -2, flags: "readonly", right: known, group: server, run: (*Session).commandInfo, summary: "How commands are called."},
			{name: "getkeys", arity: -4, right: known, group: server, run: (*Session).commandGetKeys, summary: "The keys of a request."},
			{name: "list", arity: 2, flags: "readonly", right: known, group: server, run: (*Session).commandList, summary: "The names of the commands."},
		}},
		{name: "config", arity: -2, group: server, summary: "About settings Redis has.", subs: []command{
			{name: "get", arity: -3, flags: "readonly", right: known, group: server, run: (*Session).configGet, summary: "What Redis' settings would be here, by patterns."},
		}},
		{name: "info", arity: -1, flags: "readonly", right: known, group: server, run: (*Session).info, summary: "About this server, by section."},
		{name: "dbsize", arity: 1, flags: "readonly fast", right: known, group: server, run: (*Session).dbSize, summary: "About how many entries this node holds in memory."},
		{name: "memory", arity: -2, group: server, summary: "About memory.", subs: []command{
			{name: "usage", arity: -3, flags: "readonly", keys: [3]int{2, 2, 1}, right: reader, group: server, run: (*Session).memoryUsage, summary: "How much memory the entry of a key takes on this node, if there is one."},
		}},
		{name: "time", arity: 1, flags: "fast", right: known, group: server, run: (*Session).timeNow, summary: "This node's clock: seconds and microseconds."},
		{name: "role", arity: 1, flags: "fast", right: known, group: server, run: (*Session).role, summary: "Answers master."},
		{name: "cluster", arity: -2, group: cluster, summary: "About the tier, for clients that look for the owner of each key; refused on other listeners.", subs: []command{
			{name: "slots", arity: 2, right: known, group: cluster, run: inCluster((*Session).clusterSlots), summary: "Which node owns which slots."},
			{name: "shards", arity: 2, right: known, group: cluster, run: inCluster((*Session).clusterShards), summary: "The nodes, each with its slots."},
			{name: "nodes", arity: 2, right: known, group: cluster, run: inCluster((*Session).clusterNodes), summary: "The nodes with their slots, a line each."},
			{name: "info", arity: 2, right: known, group: cluster, run: inCluster((*Session).clusterInfo), summary: "How many nodes and slots there are."},
			{name: "myid", arity: 2, right: known, group: cluster, run: inCluster((*Session).clusterMyID), summary: "This node's ID."},
			{name: "keyslot", arity: 3, right: known, group: cluster, run: inCluster((*Session).clusterKeySlot), summary: "The slot of a key."},
		}},
		{name: "readonly", arity: 1, flags: "fast", right: known, group: cluster, run: inCluster((*Session).setReadOnly), summary: "This node answers the connection's reads, whoever owns the key."},
		{name: "readwrite", arity: 1, flags: "fast", right: known, group: cluster, run: inCluster((*Session).setReadWrite), summary: "Ends READONLY."},
		{name: "asking", arity: 1, flags: "fast", right: known, group: cluster, run: inCluster((*Session).setAsking), summary: "This node answers the next command, whoever owns the key."},
	}
}

// sub finds a subcommand by its name in any case.
func (c *command) sub(name []byte) *command {
	var room [maxName]byte
	if len(name) > maxName {
		return nil
	}
	name = lower(room[:0], name)
	for i := range c.subs {
		if c.subs[i].name == string(name) {
			return &c.subs[i]
		}
	}
	return nil
}

// span says where the keys are in a request of n words.
func (c *command) span(n int) (first, last, step int) {
	first, last, step = c.keys[0], c.keys[1], c.keys[2]
	if last < 0 {
		last += n
	}
	return first, last, step
}

// fits reports whether a request of n words has the command's arity.
func (c *command) fits(n int) bool {
	return n == c.arity || c.arity < 0 && n >= -c.arity
}
