package cache

import (
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// Change applies one change of a key: it bumps the key's stamp, and if the
// entry was valid just before and image is newer, replaces it; otherwise the
// entry is void. It never makes an entry where there was none:
//
//  1. a truncate is applied in one partition: epoch bumped, everything void
//  2. an older change of the same row comes from another partition
//  3. had it made an entry, the row would be back
//
// A void entry stays in memory until a fill takes its place or others need
// its room.
func (c *Cache) Change(key proxy.Key, image *proxy.Image, from proxy.Record) {
	c.change(key, image, from, stepDropped)
}

// change is Change for a change of the stream, and for what is taken for one:
// cause is the step that makes an entry void.
func (c *Cache) change(key proxy.Key, image *proxy.Image, from proxy.Record, cause what) {
	u := &c.cases[key.UseCase.ID]
	hash := hashOf(key.Text)
	if hook.Mutant(hook.DropIfOlder) && c.newer(u, hash, key.Text, image) {
		return
	}
	stamp := c.stamps.bump(hash)
	hook.At("cache.change.bumped")
	e := c.known(u, hash, key.Text)
	if e == nil {
		if c.trace.watchOf(hash) != nil {
			c.changed(key, hash, image, from, stepPassed)
		}
		if hook.Mutant(hook.RefillAbsent) && image != nil {
			c.put(u, hash, c.replacement(u, &entry{key: string(key.Text), epoch: u.epoch.Load()}, stamp, hash, image))
		}
		return
	}
	e.touched.Store(true)
	// The entry was valid just before the bump iff it has the stamp before
	// it. Its epoch goes over to the new entry, so that an epoch bumped
	// meanwhile voids that too.
	wasValid := e.stamp == stamp-1 && e.epoch == u.epoch.Load()
	newer := image != nil && (image.Position.Compare(e.position) > 0 || hook.Mutant(hook.RefillUnpositioned))
	if !wasValid || !newer || e.pinned || !e.position.Known() {
		c.metrics.dropped[key.UseCase.ID].Inc()
		c.changed(key, hash, image, from, cause)
		return
	}
	c.metrics.replaced[key.UseCase.ID].Inc()
	c.changed(key, hash, image, from, stepReplaced)
	c.put(u, hash, c.replacement(u, e, stamp, hash, image))
}

// changed remembers what became of the entry of a key that changed.
func (c *Cache) changed(key proxy.Key, hash uint64, image *proxy.Image, from proxy.Record, what what) {
	s := step{hash: hash, useCase: key.UseCase.ID, what: what, record: from}
	s.at = c.told()
	if image != nil {
		s.position, s.asof, s.bytes = image.Position, image.Commit, bytesOf(image.Row)
	}
	c.trace.take(s)
}

// known is find for the change stream: most changes are of keys that are not
// here, and asking for them must not count as a use.
func (c *Cache) known(u *useCase, hash uint64, key []byte) *entry {
	if u.rows.Has(hash) {
		if e := matching(u.rows.Get(hash), key); e != nil {
			return e
		}
	}
	if c.absences.Has(hash) {
		return matching(c.absences.Get(hash), key)
	}
	return nil
}

func (c *Cache) replacement(u *useCase, old *entry, stamp, hash uint64, image *proxy.Image) *entry {
	_, hi := c.clock.Bounds()
	return &entry{
		key:      old.key,
		row:      image.Row,
		stamp:    stamp,
		epoch:    old.epoch,
		asof:     image.Commit,
		upper:    hi,
		expires:  expiry(image.Commit, u.TTLMax, hash),
		position: image.Position,
	}
}

// newer is the mutant that drops an entry only if its version is smaller.
func (c *Cache) newer(u *useCase, hash uint64, key []byte, image *proxy.Image) bool {
	e := c.known(u, hash, key)
	return e != nil && image != nil && e.position.Compare(image.Position) >= 0
}

// Void makes everything void that is cached for a use case.
func (c *Cache) Void(u *proxy.UseCase) {
	c.metrics.voided[u.ID].Inc() // before anybody fills for it
	s := step{useCase: u.ID, what: stepVoided, epoch: c.cases[u.ID].epoch.Add(1)}
	s.at = c.told()
	c.trace.voids.take(s)
}

// Invalidate makes the entry of one key void.
func (c *Cache) Invalidate(key proxy.Key) { c.change(key, nil, proxy.Record{}, stepInvalidated) }
