package cache

import "github.com/freshet-cache/freshet/proxy"

// Entries returns about how many entries are held, cached absence included,
// and also what a change has made void and nothing has replaced yet.
func (c *Cache) Entries() int64 {
	n := int64(0)
	for _, s := range c.stores {
		n += s.Len()
	}
	return n
}

// EntryBytes returns the heap that the entry of a key takes, if one is held.
func (c *Cache) EntryBytes(key proxy.Key) (n int, held bool) {
	e := c.known(&c.cases[key.UseCase.ID], hashOf(key.Text), key.Text)
	if e == nil {
		return 0, false
	}
	return e.size(), true
}

// Used returns how much memory all entries take, and how much they may.
func (c *Cache) Used() (used, bound int64) {
	for _, s := range c.stores {
		u, b := s.Used()
		used, bound = used+u, bound+b
	}
	return used, bound
}
