// Package hook marks the places where the tests of the contract step into the
// product: points between two lines at which another actor may move ([At]),
// and the mutants ([Mutant]) that a check of the contract must catch, one line
// each.
//
// In the product both are constants that the compiler removes. Built with
// -tags mutants they are variables, and only then do tests switch them.
package hook

// M names a mutant: one rule of the contract left out.
type M uint8

// The mutants. The comment is the rule each one breaks, and the section of
// the contract it is from.
const (
	None                M = iota
	InstallUnchecked      // 4.3: a fill is installed only if stamp and epoch are unchanged
	WatermarkAfterStamp   // 3: the watermark is read before the stamp
	JoinAny               // 3: a read joins a sent fill only within its bound, unmoved
	DropEvents            // 6: every change is applied
	DropIfOlder           // 6.2: a change drops the entry whatever its version
	CheckpointNow         // 6.8: T is read before the changes are
	WatermarkMax          // 1: the watermark is the minimum over the partitions
	GapSilent             // 6.6: a gap voids every entry
	EpochBeforePosition   // 6.6: positions are established before the epoch is bumped
	RefillIncomplete      // 6.2: an incomplete image never refills
	RefillAbsent          // 6.2: a change never creates an entry that was absent or invalid
	RefillNotLast         // 6.2: only the last change of its key in its transaction refills
	RefillUnpositioned    // 6.2: a refill's position is greater than the entry's
	IgnoreInsert          // 6.2: an insert voids a cached absence
	RepliesShifted        // replies of a pipeline are in the order of its requests
	TTLExtended           // 8: ttl_max is never extended by a hit
	TruncateOne           // 6.3: a truncate bumps every use case on its table
	HolesIgnored          // 6.1: a prev beyond the mark is a hole, so a gap
	OrderByRow            // 6.1: positions are in the order of commits, and a record before its predecessor is a lie
	OldPrimaryLifts       // 1: W counts only checkpoints of the current primary
	NoRelayGate           // 5.1: nothing is shipped before it is visible
	NoNodeGate            // 5.3: nothing is applied before it is visible
	GateAsksReplica       // 5.3: only the primary says what is visible
	BarrierFromList       // 5.3: the barrier is a number that no earlier transaction reaches
	InstallWritten        // 7.1: a written value is not installed unchecked
	TokenIsCommitTime     // 7.2: a token is read after the commit's reply
	SessionTokenIsAsOf    // 7.3: a session's token rises to the upper time of what it reads
	FingerprintUnread     // 6.5: a changed catalog is announced before the checkpoint
	ClockSuspends         // 1: the local clock counts suspended time
	FloorForgotten        // 7.3: a node reads its own writes, whoever answers
)
