package proxy

import "github.com/freshet-cache/freshet/proxy/source/row"

// Holding says what a node has of a key.
type Holding uint8

// What a node may have of a key.
const (
	Absent Holding = iota // nothing
	Void                  // an entry that a change, a write or an epoch has made void
	Aged                  // a valid entry that is outside the bound
	Served                // an entry that reads under the use case's bound are answered with
)

// EntryID tells the entries of one key on one node apart.
type EntryID struct {
	Stamp, Epoch uint64
	AsOf         Time // of its own
	Position     Position
}

// Held is what a node has of a key, seen from the side.
type Held struct {
	Holding Holding
	Hash    uint64 // names the key where that itself must not stand
	Entry   EntryID
	Row     row.Row
	AsOf    Time // what a read would be told now: no successor of Row was visible then
	Pinned  bool
}
