// Package conform is freshet conform: a run of writers, readers and faults
// against a deployment, and the verdict on its history.
//
// [Embedded] brings its deployment along. The parts are packages of their own:
// table is what is written, load is the traffic, fault and part are what
// goes wrong, run joins them and writes the history, check judges it, report
// shows what was found.
package conform
