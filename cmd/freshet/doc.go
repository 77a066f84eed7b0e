// Command freshet is a cache tier that speaks the Redis protocol in front of a
// database's tables, kept fresh through Kafka within a stated bound.
//
//	freshet dev                     try it: sample database, broker, relay and node in one process
//	freshet dev sql STATEMENT       change or read its database
//	freshet serve --config FILE     run a node
//	freshet relay --config FILE     ship the database's changes to Kafka
//	freshet conform --embedded      prove the bound: writers, readers and faults, and a verdict
//	freshet doctor --config FILE    check what a deployment's promise rests on
//	freshet ctl ring                show a tier as one of its nodes sees it
//	freshet healthcheck             ask whether a node or relay is ready
//	freshet hash-password           print the hash of a password
//	freshet --print-defaults        every setting, with its default
//	freshet version
//
// It exits with 0 when it was asked to end or had nothing more to do, with 1
// after an error or a promise found broken, with 2 when it was called wrongly,
// and with 3 when a conformance run proved too little. A doctor exits with 1
// after an error that it found, with 3 after a warning, and else with 0.
//
// Read main.go first; each command has a file of its own.
package main
