package cache

import (
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// entry is a cached value, or a cached absence if its row does not exist. It
// is immutable but for touched.
type entry struct {
	key      string
	row      row.Row
	stamp    uint64
	epoch    uint64
	asof     proxy.Time
	upper    proxy.Time // the value was known at or before it
	expires  proxy.Time // ttl_max, on the source's clock
	position proxy.Position
	pinned   bool
	touched  atomic.Bool // a change of this very key voided it
}

// size is the heap an entry holds: itself, its key and its row, each rounded
// up to an allocation of its own.
func (e *entry) size() int {
	return int(unsafe.Sizeof(*e)) + roundUp(len(e.key)) + roundUp(e.row.Size())
}

func roundUp(n int) int { return (n + 15) &^ 15 }

// asOf is the source time at which no successor of the entry was visible yet,
// given the watermark w.
func (e *entry) asOf(w proxy.Time) proxy.Time {
	if e.pinned {
		return e.asof
	}
	return max(e.asof, w)
}

// expiry returns when an entry as of asof reaches ttl_max: up to a tenth
// earlier, by its hash, so that entries made together do not end together.
func expiry(asof proxy.Time, ttl time.Duration, hash uint64) proxy.Time {
	jitter := ttl / 10 * time.Duration(hash>>32&1023) / 1024
	return asof.Add(ttl - jitter)
}

// hashOf names a key in stores, locks and stamps. It is not secret, and two
// keys may share it: whoever looks a key up compares the key itself.
func hashOf(key []byte) uint64 { return xxhash.Sum64(key) }

// find returns the entry of a key, valid or not. At most one of the two
// stores can hold a valid one.
func (c *Cache) find(u *useCase, hash uint64, key []byte) *entry {
	e := matching(u.rows.Get(hash), key)
	if e == nil || !c.valid(u, e, hash) {
		if absent := matching(c.absences.Get(hash), key); absent != nil {
			return absent
		}
	}
	return e
}

func matching(e *entry, key []byte) *entry {
	if e != nil && e.key == string(key) {
		return e
	}
	return nil
}

// valid reports whether nothing has voided e since it was read.
func (c *Cache) valid(u *useCase, e *entry, hash uint64) bool {
	return e.stamp == c.stamps.of(hash) && e.epoch == u.epoch.Load()
}

// put offers e to the store it belongs to, which it returns, and takes its key
// out of the other.
func (c *Cache) put(u *useCase, hash uint64, e *entry) entries {
	home, other := u.rows, c.absences
	if !e.row.Exists() {
		home, other = other, home
	}
	home.Put(hash, e, e.size())
	if other.Has(hash) {
		other.Drop(hash)
	}
	return home
}

// evicted notes that an entry had to go, so that its next fill knows why.
func (c *Cache) evicted(e *entry) {
	hash := hashOf([]byte(e.key))
	c.metrics.evictions.Inc()
	c.stamps.noteEviction(hash)
	name, _, _ := strings.Cut(e.key, ":")
	s := step{hash: hash, useCase: c.catalog.Named(name).ID, what: stepEvicted, asof: e.asof, bytes: bytesOf(e.row)}
	s.at = c.told()
	c.trace.take(s)
}
