package cache

import (
	"github.com/freshet-cache/freshet/proxy"
)

// Peek looks at what is held of a key: no fill, and no read is counted. To the
// store it is a use like that of a change, as it can be asked in no other way.
func (c *Cache) Peek(key proxy.Key) proxy.Held {
	u := &c.cases[key.UseCase.ID]
	hash := hashOf(key.Text)
	at := c.now()
	e := c.known(u, hash, key.Text)
	if (e == nil || !c.valid(u, e, hash)) && c.absences.Has(hash) {
		if absent := matching(c.absences.Get(hash), key.Text); absent != nil {
			e = absent
		}
	}
	if e == nil {
		return proxy.Held{}
	}
	return proxy.Held{
		Holding: c.holding(u, e, hash, &at),
		Hash:    hash,
		Entry:   proxy.EntryID{Stamp: e.stamp, Epoch: e.epoch, AsOf: e.asof, Position: e.position},
		Row:     e.row,
		AsOf:    e.asOf(at.watermark),
		Pinned:  e.pinned,
	}
}

// holding is judge for who asks what an entry is, not what to do.
func (c *Cache) holding(u *useCase, e *entry, hash uint64, at *moment) proxy.Holding {
	switch c.judge(u, e, hash, proxy.Freshness{}, at) {
	case reasonNone, reasonRefresh:
		return proxy.Served
	case reasonEpoch, reasonChanged, reasonNeighbour:
		return proxy.Void
	}
	return proxy.Aged
}

// Any returns some key that is held and was read or filled lately, as random
// chooses, or false if it chose none.
func (c *Cache) Any(random uint64) (proxy.Key, bool) {
	hash := c.trace.any(random)
	for _, s := range c.stores {
		if !s.Has(hash) {
			continue
		}
		e := s.Get(hash)
		if e == nil {
			continue
		}
		if key, err := c.catalog.Key([]byte(e.key)); err == nil {
			return key, true
		}
	}
	return proxy.Key{}, false
}
