// Package history is what a conformance run writes down and what its checker
// reads: who wrote what and when, who read what and when, what the nodes
// counted, and which faults were going on.
//
// # Clocks
//
// Every [Time] of a history is of one clock, that of the host which runs
// writers and readers (clock.Boottime, which processes of one machine share).
// Times of the source's own clock are [proxy.Time]. What ties the two together
// are the [Clock] records: round trips of the source's clock, taken once a
// second or more often, from before the first read to after the last. A step of
// the source's clock shows in them as intervals that do not meet.
//
// # Versions
//
// What a key holds from one committed write to the next is a version. Absence
// is a version too, and every key begins with one, of number 0. The versions
// of a key are ordered by [Write.Seq], which must come from the source's own
// log: a number taken inside the transaction while the row is locked, for
// instance by a trigger. [Write.Value] is another number: it stands in the
// row's value, so that a reader knows which write it sees, and no two writes
// share it. One write has a record for every cache key that it changes, under
// every use case: a changed primary key is an absence of the old key and a
// version of the new one.
//
// # What the writer of a history owes its reader
//
//   - Run comes first, and End last, in one file.
//   - Every read is recorded, also one that was not answered.
//   - Write.Begun is read before anything that could make the write visible is
//     sent, Write.Acked after the write was seen to be visible: for a commit,
//     before it is sent and after its reply has come.
//   - Read.Invoked is read before the command's first byte is sent,
//     Read.Answered after the reply's last byte has come.
//   - A write that may or may not have been carried out is looked up before it
//     is recorded. One that nobody can find out about is [Unknown].
//   - The records of one session are written in the order in which they ended:
//     through one [Log].
//   - The fills are those that a source was sent, recorded at the source's
//     door: [Fill.Sent] before, [Fill.Ended] after.
//   - [Counters] of a node are read while no read is under way if they are
//     Final; others may be read at any time.
//
// # Files
//
// A history is JSON lines, one record each, in one file or several: a process
// that may be killed writes one of its own, whose last line may then be cut
// off. "kind" is always the first field of a line and "key", where there is
// one, the second. Numbers that are zero, texts that are empty and flags that
// are false are left out.
//
// [Writer] takes records of many goroutines and writes them through a bounded
// queue: who is faster than the disk waits. [Decoder] reads one line.
//
// Read record.go first, then append.go, writer.go, decode.go and fields.go.
package history
