package command

import (
	"crypto/sha256"
	"encoding/hex"
)

// Slots is how many slots there are: those of Redis Cluster.
const Slots = 16384

// Cluster is the tier, for clients that look for the owner of each key.
type Cluster interface {
	// Topology is who owns what now. It is asked for with every batch that a
	// client sends.
	Topology() *Topology
	// Slot is the slot of a key, from 0.
	Slot(key []byte) int
}

// Member is a node of a tier, as clients are told of it.
type Member struct {
	Name string
	Host string // of its listener that tells clients who owns what; "": where they are
	Port int
	Away bool // it does not answer now
}

// Placed is where one slot is.
type Placed struct {
	Owner int  // index of a member
	New   bool // it may not know yet: clients are told of it, but not sent to it
}

// Topology is who owns what, as clients are told. Immutable, once it follows the
// one before.
type Topology struct {
	// Losses counts the members that were left without slots, as they were lost
	// or leave. Of these clients learn by what they are answered, and of nothing
	// else that has changed.
	Losses uint64

	version uint64
	members []Member
	ids     []string // of the members: 40 hexadecimal digits
	self    int
	ranges  []slotRange
	sendTo  [Slots]int16 // by slot: the member that clients are sent to; −1: they are served here
}

// slotRange are slots that lie together and have one owner.
type slotRange struct{ from, to, owner int }

// NewTopology returns the topology of members, of which self is this node.
// version rises when they change. Each slot has an owner among them: a slot
// that none of them may be asked for is this node's.
func NewTopology(version uint64, members []Member, self int, place func(slot int) Placed) *Topology {
	t := &Topology{version: version, members: members, self: self, ids: make([]string, len(members))}
	for i, m := range members {
		t.ids[i] = idOf(m.Name)
	}
	for slot := range Slots {
		p := place(slot)
		t.sendTo[slot] = int16(p.Owner)
		if p.New || p.Owner == self {
			t.sendTo[slot] = -1
		}
		if last := len(t.ranges) - 1; last >= 0 && t.ranges[last].owner == p.Owner {
			t.ranges[last].to = slot
			continue
		}
		t.ranges = append(t.ranges, slotRange{slot, slot, p.Owner})
	}
	return t
}

// idOf makes a node's ID of its name: the same on all nodes.
func idOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:20])
}

// elsewhere returns the member that clients are sent to for a slot, or −1.
func (t *Topology) elsewhere(slot int) int { return int(t.sendTo[slot]) }

// owners are the names of the members that own slots.
func (t *Topology) owners() map[string]bool {
	owns := make([]bool, len(t.members))
	for _, r := range t.ranges {
		owns[r.owner] = true
	}
	names := map[string]bool{}
	for i, m := range t.members {
		if owns[i] {
			names[m.Name] = true
		}
	}
	return names
}

// Follow makes t the topology after another one: it counts the losses between
// the two.
func (t *Topology) Follow(last *Topology) {
	t.Losses = last.Losses
	owners := t.owners()
	for name := range last.owners() {
		if !owners[name] {
			t.Losses++
		}
	}
}

// rangesOf returns the slots of each member.
func (t *Topology) rangesOf() [][]slotRange {
	all := make([][]slotRange, len(t.members))
	for _, r := range t.ranges {
		all[r.owner] = append(all[r.owner], r)
	}
	return all
}
