// Package doctor checks what a deployment's promise rests on, before it runs
// and while it does: what is found, what is wanted, why, and what to do.
//
// # Two halves
//
// [Gather] asks the database, the brokers, Kafka Connect and the admin ports of
// nodes and relay, all at the same time, and watches the topics for a while. It
// writes nothing. What cannot be reached is a fact like any other. A judge makes
// findings of the facts, and asks nobody: what it says of a deployment can be
// tried without one.
//
// # Levels
//
//	ok       as it has to be
//	note     good to know; not there yet, and whoever makes it will
//	warning  the promise holds, and something is lost: hits, a warm cache,
//	         safety against what may come
//	error    it does not work, or the promise rests on what is not so
//
// A [Mend] is words, and apart from them what can be carried out as it stands:
// SQL, settings of the topic, of the connector, of the configuration.
//
// # The bound
//
// Package pipeline says which bound the stream can carry; [Measured] takes the
// worst of the topics and the widest clock of the nodes. A use case below it is a
// warning: its promise holds, by reads of the database.
//
// # Debezium
//
// [Plans] is what a connector has to be told so that its stream has
// checkpoints: SQL, settings, and how many rows the partitions need. What is
// wrong with a connector is judged from its settings, as Kafka Connect or a file
// has them. Regular expressions in them are Java's, taken for Go's.
//
// Read finding.go and facts.go first; gather.go with its parts, judge.go with
// its, then print.go; connector.go, plan.go and print_plan.go for Debezium.
package doctor
