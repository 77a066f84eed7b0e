// Package hashring says who owns a key.
//
// A key belongs to one of 16,384 slots ([SlotOf], the slots of Redis Cluster,
// so that cluster clients may compute them too), and a [Ring] places the slots
// over the members of a tier. Ownership is for hit rate and source load only:
// the staleness contract does not depend on it, and two nodes may disagree for
// a while.
//
// Slots are placed by consistent hashing with bounded loads (Mirrokni, Thorup,
// Zadimoghaddam: no member holds more than 1.25 times the average). The
// placement depends on the set of members alone, not on their order. A joining
// member takes its share from the others and moves nothing between them.
//
// A Ring is an immutable value: it is built away from the hot path, published
// as a whole, and looked up without a lock or an allocation. Two nodes with
// the same [Ring.Checksum] place every slot alike.
//
// Read slot.go first, then ring.go.
package hashring
