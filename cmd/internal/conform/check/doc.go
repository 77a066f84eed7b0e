// Package check judges the history of a conformance run: checks C0 to C11 of
// the contract's section 9.
//
// [Files] reads a history and returns a [Verdict]. Whether it was written by
// this program's own run or by somebody else's is all the same to it.
//
// # What is judged by what
//
// The versions of a key are in the order of the source's log, and a version is
// known to be over once any later one was acknowledged. So for each version
// one looks up, in an array of minima from the end, when it was certainly over:
// by the run's clock, by the source's, and by the tokens that were given out.
// An answer breaks a check only if it does so for certain, whatever the
// unknown moments between a write's begin and its acknowledgement were.
//
// "No such row" tells no version. Of a key's absences the last one that can
// have been visible by then is taken: whatever else is asked of an answer, a
// later version meets it if an earlier one does.
//
//   - C3, C7, C8 and C10 need the run's clock only.
//   - C2 and C4 need the source's clock, which the history's round trips tie
//     to the run's. Where no two of them agree, they judge nothing.
//   - What rests on ages and falls together with the step of a clock is
//     excused, and counted as that.
//   - C4 holds hits to the read rule; a fill that was sent after its read came
//     satisfies any bound, and only its as-of must not lie ahead.
//   - C5 also holds every read at a node to the writes that went through it,
//     for as long as it lives.
//   - C6 takes a session's own writes for something that it knows. Commands
//     of one pipeline are under way at once, and none knows of another.
//   - C9 has two halves. At the source's door, fills of one key by one life of
//     a node must not overlap. And of what the nodes counted, each reason must
//     be accounted for by its cause, hits and fills by reads, and where a life
//     ended in peace the sum must be what the door saw. At nodes that were
//     there before the run, a key's first fill may have its cause from before.
//     They write down no fills: that one failed or took long, the reads tell.
//   - C11 judges the reads of the phases that follow a fault by ten seconds, in
//     which no other one goes on, and the share of hits in each of them.
//
// A history without an end may lack writes that were read already, and reads
// that nodes have counted, as of a run that goes on: then no value is one that
// nobody wrote, and "no such row" and what nodes counted are not judged.
//
// # Cost
//
// It spills: what is judged together need not fit into memory. Lines are first
// dealt, unread, to parts by their key, which takes as much disk as the history
// has. Then each part is judged alone, one per processor:
// its writes are sorted and held in memory, its reads pass by one at a time.
// Time is O(n log n); memory is that of a part's writes, of which there is one
// part per 32 MiB, and at most 128.
//
// Read verdict.go, check.go and deal.go, then timeline.go and judge.go;
// clock.go, phase.go, session.go, fills.go, causes.go and recovery.go stand for
// themselves; tally.go and conclude.go add up.
package check
