// Package membership knows who is in a tier, and keeps the rings that follow
// from it.
//
// A [Directory] finds the members: [Static] from a list, [DNS] from a name,
// and those of the packages below this one. [Membership] takes what it tells
// and publishes a [View]: the rings, the members with what they say of
// themselves, and what is wrong.
//
// Between a directory and the rings stand three rules. Changes are taken
// together, two seconds at a time ([Options].Debounce). A member that is
// missing is away first and keeps its keys, and is gone after a grace period
// ([Options].Grace): so a restart moves no keys, and fades nobody in. And the
// last good list stands while a directory is away, tells an empty list, or
// one that makes no rings (two nodes with one name): a tier never shrinks to
// nothing because somebody else's server is down. Until the first list a node
// is alone, which costs reads of the source, and no correctness.
//
// What a node says of itself is a record ([Encode], [Decode]), which gossip
// carries. The other directories know addresses only: [Asked] asks each of
// them, again and again, and so finds who is there, what they do and who does
// not answer, whatever the directory.
//
// A view is an immutable value behind one atomic reference. [Membership.View]
// may be called concurrently with everything.
//
// Read peer.go and record.go first, then membership.go, then the directories:
// static.go, dns.go, asked.go.
package membership
