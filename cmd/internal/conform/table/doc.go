// Package table is the table of a conformance run: the rows that its writers
// change in the database itself, and how each change is found again.
//
// A row has an id, an alias made from it under a unique index of its own, a
// group, and a value, which [Text] spells and [Parse] reads: the row's id and
// a number that no other write to this row has. So whoever reads a value knows
// which write it sees, and whether that was one of this row at all.
//
// Beside it stands a log. Triggers write a line for every change of a row,
// whoever made it and within his transaction: the row, the number in its new
// value, and the change's place among all changes of that row. What is in the
// log was committed, and nothing else was. [Database] and [Conn] are carried
// out by a type for each kind of database: [SQLite] and [Postgres]. Package
// tabletest is what both have to do.
//
// In a database that is somebody's a run is a guest: it looks whether it may
// come, enters a table that is there empty or makes one, and leaves nothing.
//
// Times are of the run's clock, package history.
//
// Read table.go first, then sqlite.go and its statements; postgres.go with
// postgres_transact.go and its statements; guest.go with sqlite_guest.go and
// postgres_guest.go.
package table
