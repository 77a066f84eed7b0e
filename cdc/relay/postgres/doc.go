// Package postgres is the log of a PostgreSQL database (15 or later), read by
// logical replication with the plugin pgoutput, as a relay.Log.
//
// # What it sets up
//
// A publication with the mapped tables and a replication slot. Both are made
// where this user's rights allow, else the error has the SQL for those who
// may. A publication that leaves something out (an operation, rows, columns)
// is refused, and so is a table whose changes the log does not have in full:
// unlogged, inherited from, or without a key for its old rows. [Check] says
// all that beforehand. A table and a partition of it are not mapped both: the
// log has the changes of both under one name.
//
// The publication is made before the slot. The other way round, the slot would
// stop for ever at changes that were made when there was no publication; such
// a slot is taken for lost.
//
// # Visible, and in order
//
// The log has a commit before other statements see it: with a synchronous
// standby, long before. So a transaction is handed out only once a snapshot
// that was taken on the primary after its commit had arrived shows it. What
// lies behind it waits, checkpoints among it. With protocol version 1 a
// transaction arrives as a whole after its commit; of one snapshot for each
// poll all are judged that have arrived by then. Numbers of transactions have
// 32 bits in the log and 64 in snapshots.
//
// A slot that is new does not have what was committed before it; but some of
// that may not be visible yet, and no reader would ever be told of it. So
// nothing is handed out, and no stream begins, until all transactions below a
// number that was drawn afterwards have ended. The same holds for a table that
// joins the publication: rows that an open transaction wrote before are not
// published. (A transaction that was prepared and forgotten holds that up:
// [Log.Waiting] says so.)
//
// # Checkpoints
//
// Every Options.CheckpointInterval, on a connection of its own: the clock is
// read, then the catalog's fingerprint, then both are written into the log as
// a message, in a transaction that waits for no standby. When the message
// comes back, all that was visible at that time has been handed out. It
// carries a nonce of the session: anybody may write messages into a log, and
// those of earlier sessions come again.
//
// A table whose fingerprint differs from the one that was announced last makes
// a change of all its rows, in front of the checkpoint. What was announced is
// kept in the topic's checkpoints. What went away and came back (a table, a
// column's name or type, a label of an enum) is announced as well, though it
// looks the same: what was written to the table meanwhile is not published, and
// what was read of it is not what it was. A relation of the log that has other
// columns than readers know of makes such a change in front of its first row.
//
// # Positions
//
// A position is where the commit record begins, then the row's number in its
// transaction, with 16 bits below for what one row makes (two changes, where a
// row moves to another primary key). Every reading of the log counts alike.
//
// A slot is confirmed up to what is in Kafka under a checkpoint in every
// partition, and no further, whatever else the server writes; checkpoints come
// often enough that no log is kept for nothing. So a slot that stands behind a
// partition's newest checkpoint was moved, or made anew, by others: the relay
// begins another stream.
//
// # Rows
//
// A value has the text that a fill reads: the sessions' settings are the same.
// An unchanged value that the log leaves out is Unknown, unless the old row has
// it. A change goes to the partition of its primary key; where old rows do not
// tell that, to one by what they tell, and it refills nothing. What cannot be
// decoded, or does not tell its row, makes its whole table change, or all
// tables, and is counted.
//
// A transaction larger than 1 MiB is handed out in parts, and which changes are
// the last of their rows is known only in the last part. What is read and not
// handed out is bounded by 16 MiB and the largest single row; then the server
// waits, and is told meanwhile that its reader lives.
//
// # Slots
//
// One session reads a slot; other relays stand by and take over when it ends:
// at once, or 10 s after a reader has gone silent. A slot that the server has
// given up is dropped and made anew, which is another stream: everything is
// dropped. Promotion of a standby, a restart, and recovery from the crash of a
// backend are another identity of the source, so another stream too. metrics.go
// has how much log the server keeps, and when the slot is in danger; those go on
// while Kafka is away.
//
// # Use
//
// A [Log] serves one goroutine; its metrics may be collected at any time. After
// an error the next Poll of the zero position begins a new session. Three
// connections are open in a session: the log's, one for snapshots and one for
// checkpoints.
//
// Read log.go and options.go first, then session.go, poll.go and transaction.go;
// feed.go, inbox.go and primary.go for the connections; rows.go and table.go for
// images; connect.go, survey.go, slot.go and errors.go for what is set up, and
// check.go for who looks at that beforehand; pulse.go, fingerprint.go and
// checkpoint.go for checkpoints; pgoutput.go for the format.
package postgres
