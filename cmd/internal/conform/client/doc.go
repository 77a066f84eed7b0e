// Package client is a connection to a node, as a conformance run and the tests
// of several nodes need it: it pipelines, tells an error reply from a lost
// connection, and hides nothing behind retries.
//
// A [Client] is not for concurrent use. After an error that is no [Refusal]
// the connection is of no use any more.
package client
