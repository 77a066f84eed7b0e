package command

import (
	"container/list"
	"math/rand/v2"
	"sync"

	"github.com/freshet-cache/freshet/proxy"
)

const (
	// maxCursors is how many open cursors a node remembers. A listing that goes
	// on holds two.
	maxCursors = 4096
	// cursorBits keeps a cursor exact where numbers are floating point.
	cursorBits = 53
)

// place is where a listing goes on.
type place struct {
	useCase *proxy.UseCase
	after   []byte // the last key seen; nil: from the first
}

// cursors are the open cursors of a node: numbers for places, which are keys,
// and do not fit into the integers that Redis' cursors are. Who does not come
// back for one loses it to others.
type cursors struct {
	mu     sync.Mutex
	byID   map[uint64]*list.Element
	recent *list.List // of *cursor, latest first
}

type cursor struct {
	id     uint64
	before uint64 // the cursor this one goes on from; 0: none
	place
}

func newCursors() *cursors {
	return &cursors{byID: map[uint64]*list.Element{}, recent: list.New()}
}

// open remembers a place that a listing has come to from another cursor. That
// other one may still be asked for again, by a client that has not got this
// reply; the one before it no more.
func (c *cursors) open(from uint64, p place) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byID[from]; e != nil {
		c.forgetLocked(c.byID[e.Value.(*cursor).before])
	}
	id := uint64(0)
	for id == 0 || c.byID[id] != nil {
		id = rand.Uint64() >> (64 - cursorBits)
	}
	c.byID[id] = c.recent.PushFront(&cursor{id: id, before: from, place: p})
	if c.recent.Len() > maxCursors {
		c.forgetLocked(c.recent.Back())
	}
	return id
}

// find returns the place of a cursor.
func (c *cursors) find(id uint64) (place, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byID[id]
	if e == nil {
		return place{}, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cursor).place, true
}

func (c *cursors) forgetLocked(e *list.Element) {
	if e != nil {
		delete(c.byID, c.recent.Remove(e).(*cursor).id)
	}
}
