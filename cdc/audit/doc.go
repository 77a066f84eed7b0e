// Package audit compares what a node holds with the source, while the node
// serves: the part that finds what every other part has lost without noticing.
//
// # What is looked at
//
// An [Auditor] sees every change before it is applied ([Auditor.Change]) and
// follows a sample of them. Some time after the change was committed it looks at
// what the node holds of the key ([Peeker]): after the use case's bound and some
// slack, and after 1 s, 5 s, and 1, 5 and 10 minutes. What never came is in no
// stream; so it also looks at keys that were read or filled lately ([Picker]).
// These and the changes that are due have half of the reads of the source each
// that it may make, and what the other leaves.
//
// An entry that is not there, is void, or is outside the bound needs no read of
// the source: nobody is answered with it. The others are read from the source,
// around the cache, a batch at a time. One that equals the source is consistent,
// and so is the change that led to it, for all times from then on. The way of
// looking again at what differs, at growing times, and of counting the share that
// is consistent within each, is that of Polaris, described by Meta ("Cache made
// consistent", 2022).
//
// # What the sample is
//
// One change in so many is followed, as set ([Options.OneIn]). Each change has a
// lot, drawn from its place in the topic, and is followed if that is low enough:
// so all nodes follow the same ones, and whether one is followed has nothing to
// do with its key, its time or what is held.
//
// Of what is followed only keys that the node would answer for cost a read, and
// all changes of a key that are due cost one together. If that is still more than
// may be read, half as many are followed from then on, by their lots again, those
// that wait among them; and twice as many when there has been little to do for a
// while. Those that are left out are not counted as anything. Each of the others
// counts for two then, or four: for itself and for those in whose place it
// stands. So freshet_audit_changes_total grows as if none had been left out, the
// shares of its outcomes are those of all changes, however busy the stream was
// when, and a burst weighs what it is; what is left out costs precision, not
// truth. freshet_audit_followed_ratio is the share that is followed now.
//
// Late are those that nobody looked at in time: the source did not answer, or
// many came at once. They are of no outcome, so a share is that of the consistent
// among the consistent and the inconsistent. freshet_audit_dropped_total counts
// what is in no sample: more than the inbox holds at once, and all that waits when
// the clock goes back.
//
// # What is a violation
//
// An entry that differs from the source may be right: it may be as old as the
// bound allows, or the row has changed once more. So the Auditor does not judge
// by age, but by what the entry claims, which is its as-of: a time at which no
// successor of its value was visible. Suspicions are in suspect.go, with the
// interleavings. In short:
//
//  1. the entry is looked at, and would be served
//  2. the source is read, and has another row; this was at or before the time
//     seen, which is the upper end of the source's clock after the answer
//  3. the same entry is looked at again, and claims an as-of later than seen
//
// What the source had at step 2 came after the value of the entry, as that was
// visible before step 1; so the claim of step 3 is wrong, whatever happened
// meanwhile. An entry that is right is void, replaced or outside the bound by
// then. A claim is told once it was made twice, so that the moment in which a
// step of the source's clock is noticed makes no alarm, and once the source has
// another row still: one that went back unnoticed harms nobody.
//
// A violation is counted, logged with the hash of its key and what is remembered
// of the key, and kept with the newest ([Auditor.Violations]), and the entry is
// looked at again after 1, 5 and 10 minutes. Nothing is mended: the entry stays
// for who looks for the cause, and FRESHET.INVALIDATE drops it.
//
// # What it cannot judge
//
// Entries that are read from a replica, and others that are pinned, claim no
// later as-of than that of their own read; they end with the bound, and are not
// judged. Nor is a value that was replaced and came back between two looks.
//
// # Cost
//
// Memory is bounded: so many changes wait, so many suspicions stand, so many
// violations are kept. The source gets at most [Options.ReadsPerSecond] keys a
// second, in batches, one at a time. A change that is not followed costs one
// multiplication and a comparison, a hit nothing.
//
// To the store a look at a key is a use of it, as a change is: the store tells
// without that only whether it holds a key, so one that is not held is not
// touched. A second index that could be asked would cost every entry memory and
// every fill time; at 50 reads a second, of keys that were read or changed
// lately anyway, it is not worth that.
//
// [Auditor.Change] and [Auditor.Violations] may be called concurrently with
// everything; [Auditor.Run] once. An Auditor is a prometheus.Collector.
//
// Read audit.go first, then change.go, share.go, schedule.go, look.go, suspect.go
// and violation.go.
package audit
