package peer

import (
	"encoding/binary"
	"fmt"

	"github.com/freshet-cache/freshet/proxy"
)

// The versions of the protocol that this build speaks. A tier is upgraded node
// by node, so a build speaks its own and the one before, at least. Version 2 tells
// a caller's priority; version 3 forgets whole use cases.
const (
	lowestVersion  = 1
	highestVersion = 3
)

// magic is the first that each end says: what begins otherwise is no peer, and
// is not answered.
const magic = "FRSHPEER"

// hello is how an end introduces itself. What a later version adds stands
// behind, and is not looked at.
type hello struct {
	lowest, highest uint64 // versions
	name            string
	instance        uint64
	tier            uint64
	keyed           bool // it asks for a proof, and gives one
	nonce           [nonceBytes]byte

	database uint64 // what the source says it is; 0: not known yet
	tells    bool   // it tells that: a build of before does not
}

func (h *hello) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, h.lowest)
	dst = binary.AppendUvarint(dst, h.highest)
	dst = appendText(dst, h.name)
	dst = binary.BigEndian.AppendUint64(dst, h.instance)
	dst = binary.BigEndian.AppendUint64(dst, h.tier)
	keyed := byte(0)
	if h.keyed {
		keyed = 1
	}
	dst = append(append(dst, keyed), h.nonce[:]...)
	if h.tells {
		dst = binary.BigEndian.AppendUint64(dst, h.database)
	}
	return dst
}

func (h *hello) decode(body []byte) error {
	c := cursor{rest: body}
	h.lowest, h.highest = c.uvarint(), c.uvarint()
	h.name = string(c.text(maxNameBytes))
	h.instance, h.tier = c.uint64(), c.uint64()
	h.keyed = c.byte() == 1
	copy(h.nonce[:], c.fixed(nonceBytes))
	if h.tells = len(c.rest) >= 8; h.tells {
		h.database = c.uint64()
	}
	if c.bad || h.name == "" || h.lowest > h.highest {
		return errMalformed
	}
	return nil
}

// refusal is why a handshake ended. The numbers are the protocol.
type refusal byte

const (
	refusedVersion refusal = iota + 1
	refusedKey
	refusedTier
	refusedName
	refusedBusy
	refusedTLS // found by one end alone: never said
	refusals
)

// reasons names refusals in metrics. The first is for what is no handshake.
var reasons = [refusals]string{"stranger", "version", "key", "tier", "name", "busy", "tls"}

// RefusedError is returned when two nodes do not work together: because of how
// one of them is configured or built, and so until somebody changes that.
type RefusedError struct {
	Node   string // the other's name, as it says; "" if it has not
	Reason string
	why    refusal
}

func (e *RefusedError) Error() string {
	if e.Node == "" {
		return e.Reason
	}
	return fmt.Sprintf("node %q: %s", e.Node, e.Reason)
}

func refuse(node string, why refusal, format string, args ...any) *RefusedError {
	return &RefusedError{Node: node, Reason: fmt.Sprintf(format, args...), why: why}
}

// agree returns the version that both ends speak, the newest of these.
func (h *hello) agree(other *hello) (uint64, error) {
	version := min(h.highest, other.highest)
	if version < max(h.lowest, other.lowest) {
		return 0, refuse(other.name, refusedVersion, "speaks versions %d to %d of the peer protocol, this node %d to %d",
			other.lowest, other.highest, h.lowest, h.highest)
	}
	if h.keyed != other.keyed {
		return 0, refuse(other.name, refusedKey, "one of the two nodes has a key for its tier, the other has none")
	}
	return version, nil
}

// admits reports why another node, who has proven the key, is none to talk to.
func (h *hello) admits(other *hello) error {
	switch {
	case h.tier != other.tier:
		return refuse(other.name, refusedTier, "belongs to another tier: its source or its topic is not this node's")
	case h.name == other.name && h.instance != other.instance:
		return refuse(other.name, refusedName, "has the name of this node, and is another: names are given once")
	case h.tells && other.tells:
		return h.shares(other)
	}
	return nil
}

// shares reports why the other node may read another database. It answers for
// this one only if both know that it is the same.
func (h *hello) shares(other *hello) error {
	switch {
	case h.database == 0:
		return refuse(other.name, refusedTier, "may read another database: this node does not know yet which one its own is")
	case other.database == 0:
		return refuse(other.name, refusedTier, "does not know yet which database it reads")
	case h.database != other.database:
		return refuse(other.name, refusedTier, "reads another database than this node")
	}
	return nil
}

// appendTable appends what this node's use cases mean.
func appendTable(dst []byte, catalog *proxy.Catalog, fingerprints []uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(fingerprints)))
	for i, u := range catalog.All() {
		dst = binary.BigEndian.AppendUint64(appendText(dst, u.Name), fingerprints[i])
	}
	return dst
}

// decodeTable reads another node's table. It returns, by the ID here, which use
// cases mean the same in both.
func decodeTable(body []byte, catalog *proxy.Catalog, fingerprints []uint64) (shared []bool, err error) {
	c := cursor{rest: body}
	shared = make([]bool, len(fingerprints))
	for range c.count(9, maxTable) {
		name, fingerprint := c.text(proxy.MaxKeyBytes), c.uint64()
		if u := catalog.Named(string(name)); u != nil && fingerprints[u.ID] == fingerprint && !c.bad {
			shared[u.ID] = true
		}
	}
	return shared, c.end()
}
