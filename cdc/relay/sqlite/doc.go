// Package sqlite is the outbox of a SQLite file: a table that triggers fill
// with the keys of whatever changes in the mapped tables, by whichever client,
// read as a relay.Log.
//
// The file is put into WAL mode, in which readers and a writer do not wait for
// each other. A row of the outbox holds the operation and the key columns of all
// use cases on the table, old and new; never values. Before an insert or update,
// triggers log the rows that conflict with it in any unique index, since OR
// REPLACE removes those without their delete triggers. A row's present state
// goes along with its last change if the poll holds everything there is.
//
// What is in the outbox is committed and visible, so nothing has to be held
// back (contract 5.2). A change's commit time is that of the last poll which
// did not show it yet.
//
// Each poll reads the clock, then opens a snapshot, then compares the catalog
// with what the triggers were made for. Where they differ (a table was
// altered, dropped and created again, a trigger was removed, or created again
// by someone else), the triggers are made anew, and with them, in one
// transaction, a row which says that anything may have happened to the table.
//
// A schema that was changed and changed back reads as before, but its version
// (PRAGMA schema_version) does not go back. Each statement that changes the
// schema, of whichever table, raises it by one, and so does VACUUM. Where it
// rose by more than that since the last poll, over the relay's absence too,
// anything may have happened to every table, and that is what the outbox then
// says. This rests on nobody setting that version, or writing into the catalog
// (PRAGMA writable_schema), by hand.
//
// A file has an identity, kept in it, and an incarnation that counts how often
// it was found to be a copy of another file or to have gone back: that the last
// row of the outbox that was seen is not the one with this sequence now.
//
// One Log per file has the lock on the file's name with "-relay" behind it,
// which also keeps what was last seen; for others Poll fails. Not for
// concurrent use.
//
// Read log.go first, then outbox.go, triggers.go, table.go, install.go and
// seen.go.
package sqlite
