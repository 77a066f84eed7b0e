package command

import "strings"

// notOffered says why a command of Redis that people would look for is not
// here; "" of all others. name is in lower case, with "|" before a subcommand.
func notOffered(name string) refusal {
	switch name {
	case "expire", "pexpire", "expireat", "pexpireat", "persist", "setex", "psetex", "getex", "expiretime", "pexpiretime":
		return errExpiry
	case "incr", "decr", "incrby", "decrby", "incrbyfloat", "hincrby", "hincrbyfloat", "append", "setrange", "msetnx", "hsetnx":
		return "ERR not offered yet: only the database could decide it, and writes here put whole values"
	case "watch", "unwatch":
		return errNoTransactions
	case "eval", "eval_ro", "evalsha", "evalsha_ro", "script", "fcall", "fcall_ro", "function":
		return "ERR scripts are not offered: the database has its own"
	case "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe", "publish", "spublish", "pubsub":
		return "ERR publish and subscribe are not offered: changes are in the stream, from which this node has them, too"
	case "monitor":
		return "ERR MONITOR is not offered: it would show one user the rows of another"
	case "keys":
		return "ERR KEYS is not offered, as it would read whole tables at once: use SCAN"
	case "randomkey":
		return "ERR RANDOMKEY is not offered, as keys are in the database: use SCAN"
	case "flushall", "flushdb":
		return "ERR rows are not deleted all at once here: FRESHET.INVALIDATE USECASE drops what is cached of a use case"
	case "rename", "renamenx", "copy", "move":
		return "ERR a key is the key of a row: change it in the database"
	case "slowlog", "latency":
		return "ERR not kept per command: the metrics of the admin port tell how long the source takes"
	case "debug", "object":
		return "ERR not offered: FRESHET.EXPLAIN tells what is known of a key"
	case "client|tracking", "client|caching", "client|getredir", "client|trackinginfo":
		return "ERR client-side caching is not offered: read with a bound, and keep nothing beyond it"
	case "config|set", "config|rewrite", "config|resetstat":
		return "ERR settings are changed in the node's configuration file"
	case "cluster|countkeysinslot", "cluster|getkeysinslot":
		return "ERR keys are not kept by slot: SCAN lists those of the database"
	case "cluster|replicas", "cluster|slaves", "cluster|replicate", "cluster|failover", "cluster|count-failure-reports":
		return "ERR nodes have no replicas: any node answers for any key"
	case "cluster|addslots", "cluster|addslotsrange", "cluster|delslots", "cluster|delslotsrange", "cluster|flushslots", "cluster|setslot",
		"cluster|bumpepoch", "cluster|forget", "cluster|meet", "cluster|reset", "cluster|saveconfig", "cluster|set-config-epoch", "cluster|links":
		return "ERR not offered: who owns which slot follows from the members of the tier, and is told by SLOTS, SHARDS and NODES"
	case "memory|stats", "memory|doctor", "memory|malloc-stats", "memory|purge":
		return "ERR not offered: INFO memory and the metrics of the admin port tell what is held"
	}
	return ""
}

// unknown says what is wrong with a request whose command is not in the table.
func (s *Session) unknown(args [][]byte) error {
	reason := notOffered(strings.ToLower(string(args[0][:min(len(args[0]), maxName)])))
	switch {
	case reason == "":
		return refusal(unknownCommand(args))
	case s.rights == nil:
		return errNoAuth
	}
	return reason
}

// unknownSub is unknown for a subcommand.
func (s *Session) unknownSub(top *command, args [][]byte) error {
	reason := notOffered(top.name + "|" + strings.ToLower(string(args[1][:min(len(args[1]), maxName)])))
	switch {
	case reason == "":
		return refusal(unknownSubcommand(args))
	case top.name == "cluster" && s.cluster == nil && s.rights != nil:
		return errNoCluster
	case s.rights == nil:
		return errNoAuth
	}
	return reason
}
