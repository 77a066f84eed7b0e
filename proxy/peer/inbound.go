package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

const (
	// maxReplies is how much may wait to be written before no more requests
	// are read.
	maxReplies = 64 << 20
	// longestSilence is how long a client may say nothing: it asks much more
	// often than that whether the server lives.
	longestSilence = time.Minute
	// maxCallers is how many callers' contexts are kept for the next request.
	maxCallers = 1024
)

// inbound is the server end of a connection: one goroutine reads requests and
// one writes replies, and each request is worked on by itself.
type inbound struct {
	link
	server  *Server
	out     *outbox
	schemas *told

	working atomic.Int64 // requests that are worked on
	jobs    sync.WaitGroup
	idle    chan *job // to a worker that waits
	resting atomic.Int64

	callers map[proxy.Caller]context.Context // of the reader
	done    chan struct{}                    // closed: the writer has failed
}

func newInbound(s *Server, l *link) *inbound {
	c := &inbound{
		link: *l, server: s, out: newOutbox(),
		idle: make(chan *job), callers: map[proxy.Caller]context.Context{}, done: make(chan struct{}),
	}
	c.schemas = newTold(c.out.put, c.bye)
	return c
}

// bye asks the client to send no more requests this way. Until it has answered
// that, what it sends is worked on: nothing is lost between the two.
func (c *inbound) bye() { c.out.put(appendFrame(nil, frameBye, nil)) }

// cut ends the connection at once.
func (c *inbound) cut() { c.net.Close() }

// run serves the connection to its end.
func (c *inbound) run(work context.Context) {
	work, cancel := context.WithCancel(work)
	defer cancel()
	var writing, workers sync.WaitGroup
	writing.Go(func() {
		if err := c.out.write(c.net, nil, nil, nil); err != nil {
			close(c.done)
			c.cut()
			cancel()
		}
	})
	err := c.read(work, &workers)
	if !errors.Is(err, errLeft) {
		cancel() // nobody is there to take answers
		if !errors.Is(err, io.EOF) {
			c.server.opts.Log.Info("connection of a peer has ended", "peer", c.name, "error", err)
		}
	}
	c.jobs.Wait()
	close(c.idle)
	workers.Wait()
	c.out.end()
	writing.Wait()
	c.cut()
}

// read takes frames until the client says goodbye (errLeft) or is lost.
func (c *inbound) read(work context.Context, workers *sync.WaitGroup) error {
	var head [headBytes]byte
	var renewed time.Time
	for {
		if err := c.room(); err != nil {
			return err
		}
		if now := time.Now(); now.Sub(renewed) > longestSilence/4 { // a busy client is none of the silent
			renewed = now
			c.net.SetReadDeadline(now.Add(longestSilence))
		}
		k, n, err := readHead(c.in, &head, maxRequest)
		if err != nil {
			return err
		}
		switch k {
		case frameLoad, frameForget, frameAsk, frameHottest:
			err = c.take(work, workers, k, n)
		case framePing:
			c.out.put(appendFrame(nil, framePong, c.server.table().append(nil)))
			_, err = c.in.Discard(n)
		case frameBye:
			return errLeft
		default:
			err = fmt.Errorf("%w: a frame of kind %d from a client", errMalformed, k)
		}
		if err != nil {
			return err
		}
	}
}

// room waits while too many replies are not taken.
func (c *inbound) room() error {
	for c.out.size() > maxReplies {
		select {
		case <-c.out.taken:
		case <-c.done:
			return errSilent
		}
	}
	return nil
}

// take reads a request and has it worked on, or refuses it.
func (c *inbound) take(work context.Context, workers *sync.WaitGroup, k kind, n int) error {
	j := c.server.jobs.Get().(*job)
	var err error
	if j.body, err = readBody(c.in, j.body, n); err != nil {
		return err
	}
	j.kind, j.rest = k, cursor{rest: j.body}
	name := j.head.decode(&j.rest, c.version)
	if j.rest.bad {
		return errMalformed
	}
	c.server.compare(j.head.ring)
	most := int64(c.server.opts.Serving)
	if j.head.caller.Low {
		most /= 2
	}
	switch {
	case j.head.hops > 1:
		return c.refuse(j, classUnavailable)
	case c.working.Load() >= most:
		return c.refuse(j, classShed)
	}
	j.caller = c.callerOf(work, name, j.head.caller.Low)
	j.arrived = time.Now()
	c.working.Add(1)
	c.jobs.Add(1)
	select {
	case c.idle <- j: // a worker that waits takes it
	default:
		workers.Go(func() { c.work(j) })
	}
	return nil
}

// refuse answers a request that is not worked on.
func (c *inbound) refuse(j *job, why class) error {
	j.refuse(c, why)
	c.out.put(j.out)
	c.server.giveBack(j)
	return nil
}

// callerOf returns the context of a caller's requests, made once.
func (c *inbound) callerOf(work context.Context, name []byte, low bool) context.Context {
	if len(name) == 0 && !low {
		return work
	}
	if ctx, ok := c.callers[proxy.Caller{Name: string(name), Low: low}]; ok {
		return ctx
	}
	if len(c.callers) >= maxCallers {
		clear(c.callers)
	}
	caller := &proxy.Caller{Name: string(name), Low: low}
	ctx := caller.With(work)
	c.callers[*caller] = ctx
	return ctx
}

// work is a worker: it takes the next request that comes when it is done with
// one, since the stack of a new goroutine has to grow first. A few may wait.
func (c *inbound) work(j *job) {
	const most = 16
	for ok := true; ok; {
		j.serve(c)
		c.working.Add(-1) // who has the answer may ask again
		c.out.put(j.out)
		c.server.giveBack(j)
		c.jobs.Done()
		if c.resting.Add(1) > most {
			c.resting.Add(-1)
			return
		}
		j, ok = <-c.idle
		c.resting.Add(-1)
	}
}
