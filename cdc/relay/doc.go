// Package relay ships a source's log of changes to Kafka.
//
// A [Relay] reads a [Log] and appends to a [Topic], one record per change.
// All changes of a row go to one partition; those of a whole table (truncated,
// schema changed) to every one. Each record names the one before it in its
// partition, so that readers notice holes. When everything that was visible
// at a time T is acknowledged, a checkpoint of T goes to every partition, at
// most every Options.CheckpointInterval.
//
// The stream id is the source's identity, the slot's name, the topic's
// incarnation (drawn when the topic is found empty, and kept in the log, or
// read from the newest checkpoints) and the number of partitions. Another
// number, another history of the source, a log that is older than what the
// topic holds, or one that has forgotten what the topic may lack, begin another
// stream, which readers treat as a gap.
//
// A log that has no place for what it has announced lets checkpoints carry it:
// what the newest ones of all partitions agree on comes back when a session
// begins.
//
// Nothing is acknowledged to the log before every in-sync replica has it. A
// session begins behind the topic's own last records, so a restart ships what
// is missing; an append whose reply was lost may lie there twice, which
// readers ignore. Every error is met by a new session after a growing pause
// of at most a second, and logged when it is another than the last.
//
// A log that only one relay may read lets Poll fail meanwhile; so a second
// relay stands by.
//
// A Relay serves one Run. Read relay.go first, then session.go, end.go and ship.go.
package relay
