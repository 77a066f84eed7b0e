// Package cdc applies a source's change stream to the cache and says how far
// it has come.
//
// # What it does
//
// An [Applier] takes the records of every partition of one stream, in order,
// and drives a [Cache]: the stamp of each key that a change touches is bumped,
// and where the change brought the complete row it may replace an entry. What
// touches all keys of a table, and what cannot be understood, makes its use
// cases void. What may have been lost is a gap, and makes everything void. A
// [Watermark] rises with the checkpoints of the stream: every change visible
// at or before it has been applied.
//
// A record's place is told by the mark of its partition, which is the position
// of the highest applied record of its stream:
//
//	prev > mark      hole: a gap, then it is applied
//	position ≤ prev  lie: its keys are dropped
//	position ≤ mark  repeat: ignored; without prev, its keys are dropped
//	otherwise        next: applied
//
// A gap: the position lost ([Applier.Lost], [Applier.Attached]), a hole,
// another stream id in a partition, another number of partitions, a step of
// the source's clock ([Applier.ClockStepped]), another primary
// ([Watermark.Found]). The watermark falls to proxy.Never; once the position is
// known every use case is made void and its columns are forgotten; then the
// watermark may rise with checkpoints that come from there on.
//
// Streams that others ship ([Applier.Change], [Applier.CheckpointRow],
// [Applier.Undecodable]) have no positions: changes drop and never replace, and
// rows of a table, which count on, are the checkpoints. One that leaves counts out
// is a hole; one that came before says that records come again; and who reads the
// tables anew has lost its place ([Applier.Anew]), which is a gap.
//
// A checkpoint that lies (its T lies in the future, or what follows it should
// have been before it) holds the watermark until ten clean ones have come.
//
// # Who may call what
//
// [Applier.Record] may be called concurrently for different partitions, but
// not together with Lost or Attached. Everything else may be called
// concurrently with everything. Nothing here does I/O, waits, or starts a
// goroutine. The Cache is called by the goroutine that brought the record, or
// that found another primary; it may be called concurrently.
//
// An Applier is a prometheus.Collector. Records that cannot be understood are
// counted and kept, the newest of them ([Applier.Kept]). A [Tap] sees the
// changes that come, before they are applied: that of package audit.
//
// Read applier.go first, then partition.go, change.go, checkpoint.go, gap.go,
// foreign.go, watermark.go, and kept.go and status.go for those who look from outside.
// Package event is the format of the records, package gate what holds them back
// until they are visible.
package cdc
