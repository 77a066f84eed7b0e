// Package postgres answers keys from the tables of a PostgreSQL database (15 or
// later), and holds what reading one takes: [Config], [Conn] with the [Settings]
// that every session has, the catalog ([Describe]) and the codec
// ([Column.Field]), which the relay of the log uses too.
//
// # Use cases
//
// [Open] completes use cases by the catalog and refuses those whose keys are
// not one to one with rows, or whose changes the log does not tell, with a
// reason that names the mend. A table is spelled "table", which is in schema
// public whatever the search path says, or "schema.table". Its rows are logged,
// it has a primary key, and its REPLICA IDENTITY names the key columns of a row
// that is changed or deleted. Of a partitioned table the root is mapped.
//
// A key is the primary key or a unique index of NOT NULL columns, checked at
// once and over all rows. Its columns are of type smallint, integer, bigint
// (spelled as integers), text or varchar with a deterministic collation, uuid
// (in lower case) or bytea, or of domains over these: in all others several
// texts are one value, or a setting decides which text it is. The database's
// encoding is UTF8.
//
// # Values
//
// A value is the text that PostgreSQL writes under [Settings]; numbers that
// JSON has are numbers, json and jsonb are JSON, bytea is its bytes, and all
// else is text. Names in values (regclass) are the catalog's, and a rename there
// is no change of the row.
//
// # Reading
//
// Load reads all keys of a call in one snapshot, taken after the call: what is
// sent together is one repeatable read. It is taken when the tables are locked:
// who waits for somebody that alters one sees rows as they are after that. With
// the rows come the primary's [Head], read in that transaction: the identity,
// the end of the log (a change behind it is not in the answer), and what the
// settings are. An answer of a standby is proxy.ErrNotPrimary. The columns are
// those the table has now: an altered one is described anew at once, and one
// that no longer fits its key is proxy.ErrUnavailable with the reason. Where
// row security applies to the user, answers are pinned: the stream carries rows
// that the user may not read.
//
// Use cases that read replicas get pinned answers as of the last checkpoint
// that the replica's snapshot shows, which a relay writes to [CheckpointTable].
//
// Where a connector ships the changes as soon as they are in the log, who
// follows it asks here what can be read by now: [Source.Snapshot],
// [Source.Horizon], and with [Options.Horizons] each read. What the connector has
// to write for checkpoints is here, too: [CheckpointRows], [Heartbeat].
//
// # Writing
//
// Apply carries out each write, or those that are joined, in one transaction at
// READ COMMITTED. Conditions are decided there, by the database. What it
// refuses is a *proxy.RejectedError in its words; deadlocks and serialization
// failures are tried again. proxy.ErrUnknownOutcome is returned if the
// connection, or the caller's patience, ends after the commit was sent. A Put is
// an update and an insert in one statement, so statement triggers of both see
// it, of no row too.
//
// # Sessions
//
// A session has its settings from the moment it is opened, whatever the
// defaults of role and database are. Behind a pooler (PgBouncer, in session or
// transaction mode) sessions are shared, so nothing is set or prepared in them:
// each transaction makes its settings itself, in the same round trip. That
// there is a pooler is known by the process id it announces. In statement mode
// only reads and single writes without Old are possible. A connection that is
// found inside a transaction is rolled back or closed before its next use.
//
// All methods of a Source may be called concurrently; a Conn serves one
// goroutine.
//
// Read source.go first, then pool.go, patience.go, load.go, replica.go, apply.go
// with write.go, and scan.go; below them are plan.go, bind.go, mapping.go,
// follow.go, catalog.go, name.go, field.go and checkpoint.go, and under all conn.go,
// snapshot.go, settings.go, head.go, config.go, errors.go and away.go. ask.go is
// for who follows a connector, and heartbeat.go and fingerprint.go for what it
// writes. inspect.go, inspect_tables.go and inspect_slot.go are apart: what a
// database is found to be, for who checks a deployment.
package postgres
