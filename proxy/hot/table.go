package hot

const (
	tableSlots = 512
	// mostHot is more than can have a hundredth of all reads each; those that
	// stay with half of that compete for the rest. A quarter of the slots, so
	// that a look ends at the first or second.
	mostHot = tableSlots / 4
)

// table is a set of hashes, immutable once it is published. 0 marks a free
// slot: the key of that hash is never hot.
type table struct {
	n     int
	slots [tableSlots]uint64
}

// put adds a hash, unless there are enough.
func (t *table) put(hash uint64) {
	if t.n == mostHot || hash == 0 || t.has(hash) {
		return
	}
	at := hash % tableSlots
	for t.slots[at] != 0 {
		at = (at + 1) % tableSlots
	}
	t.slots[at] = hash
	t.n++
}

func (t *table) has(hash uint64) bool {
	for at := hash % tableSlots; t.slots[at] != 0; at = (at + 1) % tableSlots {
		if t.slots[at] == hash {
			return true
		}
	}
	return false
}
