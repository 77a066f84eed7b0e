// Package stacked is a deployment out of real parts, as processes of this
// machine: PostgreSQL with a synchronous standby, Kafka, and the parts of
// package part.
//
// Every client of the database comes to a way of its own, as every client of
// Kafka does: it can be held, slowed, cut and led elsewhere. So a failover is
// what it is with an address that moves.
//
// The standby is synchronous because what a failover loses was never
// acknowledged then: whatever a writer was told is in the log of whoever is
// the primary, and what he was not told is looked up there at the end. And
// every commit is in the log before anybody may see it: a moment as a rule,
// and for as long as one likes where the standby is frozen.
//
// Read deployment.go with database.go, then faults.go and failover.go.
package stacked
