// Package live is a deployment that was there before: nodes that serve others,
// over a database that is somebody's.
//
// [Open] changes nothing before it has found that a run is possible: which use
// cases the configuration has over the table of a run, what is in the database
// and what may be done there, and, of every node, that it is there, lets this
// user in, has these use cases under these bounds, runs the same version as the
// others, and follows the stream. What is not so is an error that says what to
// do. Only then it makes the log beside the table, and tries a write and a read
// through every node. Whatever then happens, [Deployment.Close] leaves the
// database as it was: a table that was there is there, and empty.
//
// A table has to be there, and published, before nodes can have it mapped: so
// who wants to make runs adds to their configuration what [UseCases] prints, and
// runs once in the database what [Setup] prints.
//
// Faults are commands of the configuration, run by sh -c. Nodes write down no
// fills here: see package check for what is then judged of C9.
//
// Read deployment.go first, then usecases.go, ask.go, try.go and faults.go.
package live
