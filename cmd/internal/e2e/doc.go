// Package e2e holds tests over several packages: a database file, a broker, a
// relay and nodes in one process, spoken to by Redis clients and by SQLite
// clients that know nothing of each other.
//
// The clients of others are tried, too: those in Go by clients_go_test.go, and
// those of other languages by the programs under testdata/clients, which
// clients_real_test.go installs and runs where FRESHET_REAL=1.
//
// A tier of processes is shown through its life by real_proof_test.go, on
// proof_nodes_test.go, proof_guests_test.go and proof_picture_test.go. What came
// of it stands in testdata/tier at the top level.
//
// [Client] is a Redis client small enough to be trusted. The stacks that tests
// are run on are in stack_test.go; read it first.
package e2e
