// Package gate holds changes back until they are visible.
//
// A database may ship a commit in its log before new statements can see it,
// with a synchronous standby hours before. A change applied at once drops an
// entry, the next fill reads the old row again, and nothing ever corrects it.
// So what a log brings passes a [Gate]: in front of Kafka in a relay, or in
// front of the applier where somebody else ships the stream.
//
// Everything behind a change that is held waits too, checkpoints among it: so
// order is kept and the watermark waits, which is safe.
//
// A Gate is bounded: [Gate.Add] returns [ErrFull] and takes nothing. It serves
// one goroutine. A [Snapshot] says what is visible in PostgreSQL.
package gate
