package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

var (
	errSilent = errors.New("peer is silent")
	errLeft   = errors.New("peer has said goodbye")
	errEnded  = errors.New("this node lets its peers go")
)

// call is one request and who waits for its answer. It is used again: a call
// that was taken out of its connection's table has an answer on the way and
// takes it before it does anything else, so no answer is left over.
type call struct {
	out    []byte      // its frame
	done   chan answer // room for one
	load   load
	forget forget
}

// answer is a reply as it came: its body is the caller's alone.
type answer struct {
	kind    kind
	body    []byte
	schemas []*row.Schema
	err     error // instead: the connection was lost
}

// conn is the client end of a connection: requests of many callers, each with
// a number that is never used again, and replies in any order. Two goroutines
// serve it, one that reads and one that writes; callers wait on their own.
type conn struct {
	link
	peer *Peer
	pool *Pool
	out  *outbox

	heard atomic.Bool   // something came since the last beat
	quiet int           // beats since then; of the writer, like beats
	beats time.Time     // when the last one was
	done  chan struct{} // closed: the connection is lost
	left  chan struct{} // closed: it takes no more requests

	mu      sync.Mutex
	calls   map[uint64]*call // nil: lost
	last    uint64           // the newest number
	leaving bool
	why     error // it was lost

	known dictionary // of the reader
}

func newConn(p *Peer, l *link) *conn {
	return &conn{
		link: *l, peer: p, pool: p.pool, out: newOutbox(),
		done: make(chan struct{}), left: make(chan struct{}), calls: map[uint64]*call{},
	}
}

// run serves the connection until it is lost or ctx ends, and says why.
func (c *conn) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { c.fail(errEnded) })
	defer stop()
	var writing sync.WaitGroup
	writing.Go(func() {
		ticker := time.NewTicker(c.pool.opts.KeepAlive)
		defer ticker.Stop()
		if err := c.out.write(c.net, c.done, ticker.C, c.beat); err != nil {
			c.fail(err)
		}
	})
	c.fail(c.read())
	writing.Wait()
	return c.why
}

// beat asks whether a silent peer lives, and gives up one that stays silent.
// A beat that comes late tells that this process was held up, and nothing of
// the peer.
func (c *conn) beat() error {
	now := time.Now()
	late := now.Sub(c.beats) > 2*c.pool.opts.KeepAlive
	c.beats = now
	heard := c.heard.Swap(false)
	if heard || late {
		c.quiet = 0
	}
	if heard {
		return nil
	}
	if c.quiet++; c.quiet > 3 {
		return errSilent
	}
	c.out.put(appendFrame(nil, framePing, nil))
	return nil
}

// send gives a call its number and puts its frame; false: no more requests go
// this way. In one step, so that a goodbye stands behind every request.
func (c *conn) send(k *call) (id uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil || c.leaving {
		return 0, false
	}
	c.last++
	c.calls[c.last] = k
	setRequestID(k.out, c.last)
	c.out.put(k.out)
	return c.last, true
}

// lost reports whether the connection was, rather than left by a goodbye.
func (c *conn) lost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls == nil
}

// leave takes a call out whose caller waits no longer; false: its answer is
// on the way to it.
func (c *conn) leave(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.calls[id]
	delete(c.calls, id)
	return ok
}

// fail ends the connection, the first time, and tells all who wait.
func (c *conn) fail(err error) {
	c.mu.Lock()
	calls := c.calls
	c.calls = nil
	wasLeaving := c.leaving
	c.leaving = true
	if calls != nil {
		c.why = err
	}
	c.mu.Unlock()
	if calls == nil {
		return
	}
	c.net.Close()
	close(c.done)
	if !wasLeaving {
		close(c.left)
	} else if !errors.Is(err, errEnded) {
		err = errLeft
	}
	for _, k := range calls {
		k.done <- answer{err: err}
	}
}

// bye is the peer's goodbye: no more requests go this way. What went is
// answered, within a time, and the peer closes.
func (c *conn) bye() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving {
		return
	}
	c.leaving = true
	close(c.left)
	c.net.SetReadDeadline(time.Now().Add(2 * c.pool.opts.Drain))
	c.out.put(appendFrame(nil, frameBye, nil))
}

// read takes frames as they come.
func (c *conn) read() error {
	var head [headBytes]byte
	var scratch []byte
	in := hearing{c.in, &c.heard}
	for {
		k, n, err := readHead(in, &head, maxReply)
		if err != nil {
			return err
		}
		if k >= frameLoaded && k <= frameRefused {
			var body []byte // the caller's, and its rows'
			if body, err = readBody(in, nil, n); err == nil {
				err = c.deliver(k, body)
			}
		} else if scratch, err = readBody(in, scratch, n); err == nil {
			err = c.handle(k, scratch)
		}
		if err != nil {
			return err
		}
	}
}

// hearing notes that something came: each piece of a reply, since a large one
// takes longer than a silent peer is given.
type hearing struct {
	in    io.Reader
	heard *atomic.Bool
}

func (h hearing) Read(p []byte) (int, error) {
	n, err := h.in.Read(p)
	if n > 0 && !h.heard.Load() {
		h.heard.Store(true)
	}
	return n, err
}

// handle takes what is for the connection itself.
func (c *conn) handle(k kind, body []byte) error {
	switch k {
	case frameSchema:
		return c.known.learn(body)
	case frameBye:
		c.bye()
		return nil
	case framePong:
		return c.pong(body)
	}
	return fmt.Errorf("%w: a frame of kind %d from a server", errMalformed, k)
}

// pong takes the table of owners that a peer tells while it is asked nothing;
// a build of before tells none.
func (c *conn) pong(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	cur := cursor{rest: body}
	var its ring
	its.decode(&cur)
	if cur.bad {
		return errMalformed
	}
	c.peer.told(its)
	return nil
}

// deliver hands a reply to who waits for it, if anybody does still.
func (c *conn) deliver(k kind, body []byte) error {
	cur := cursor{rest: body}
	var r reply
	if r.decode(&cur); cur.bad { // before a call is taken out: whoever is, must be told
		return errMalformed
	}
	c.mu.Lock()
	to, waits := c.calls[r.id]
	delete(c.calls, r.id)
	asked := r.id != 0 && r.id <= c.last
	c.mu.Unlock()
	if !asked {
		return errMalformed
	}
	c.peer.told(r.ring)
	if waits {
		to.done <- answer{kind: k, body: cur.rest, schemas: c.known.schemas}
	}
	return nil
}
