// Package sqlite answers keys from the tables of a SQLite file, and holds
// what reading such a file takes: [Conn] and the catalog ([Describe]), which
// the relay's outbox uses too.
//
// [Open] completes use cases by the file's catalog and refuses those whose
// keys are not one to one with rows, with a reason that names the mend. A key
// is the primary key or a unique index of NOT NULL columns, over columns of
// type INTEGER (spelled as integers), TEXT compared as BINARY, or BLOB. A row
// whose key column holds a value of another storage class has no key: the
// BLOB 'a' in a TEXT column is not the row "a". The database's encoding is
// UTF-8.
//
// Load reads all keys of a call in one snapshot. With the rows come the
// file's identity and the highest sequence the outbox has given out: a change
// with a greater position is not in the answer. The columns are those of the
// snapshot's own schema, so a table that was altered is read as it is at once;
// a table that is gone, or is no longer as a key needs it, is
// proxy.ErrUnavailable with the reason. A table whose changes no trigger logs,
// as no relay knows it yet, is read with results that are pinned.
//
// Apply commits concurrent writes as one transaction with a savepoint around
// each, or around those that are joined. A Put changes the row, and inserts one
// where there is none. A refusal of SQLite's own (a constraint, a type) is a
// *proxy.RejectedError; a file that is full, locked or read-only is
// proxy.ErrUnavailable, and nothing was carried out; only a disk error while
// committing, or a caller that leaves meanwhile, makes
// proxy.ErrUnknownOutcome. Foreign keys are enforced.
//
// The source's clock is this host's. A file that another takes the place of
// is opened anew. All methods of a Source may be called concurrently; a Conn
// serves one goroutine.
//
// Scan lists keys in the order of the index that makes them unique.
//
// Read source.go first, then readers.go, plan.go, load.go, scan.go, apply.go,
// writer.go and carry.go; below them are conn.go, head.go, catalog.go, mapping.go, follow.go and value.go.
package sqlite
