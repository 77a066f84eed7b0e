package peer

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// longestWait is the time of a request that says none.
const longestWait = 30 * time.Second

// job is one request that is worked on. Its memory is used again: sources keep
// nothing of a key's text (proxy.Key).
type job struct {
	kind    kind
	body    []byte
	rest    cursor // of body, behind the head
	head    request
	caller  context.Context
	arrived time.Time

	reqs    []proxy.Request
	results []proxy.Result
	out     []byte // the reply's frame
}

func (s *Server) giveBack(j *job) {
	clear(j.reqs)
	clear(j.results) // lets rows go
	j.caller = nil
	if cap(j.body) <= keptBytes && cap(j.out) <= keptBytes {
		s.jobs.Put(j)
	}
}

// table is what the node's table of owners is now.
func (s *Server) table() (r ring) {
	r.version, r.checksum = s.handler.Ring()
	return r
}

// compare counts requests of nodes that have another table of owners.
func (s *Server) compare(its ring) {
	if s.table().checksum != its.checksum {
		s.metrics.disagreements.Inc()
	}
}

// serve makes the reply. A panic of the node is an answer like another: it
// must not end the process, nor the other requests.
func (j *job) serve(c *inbound) {
	defer func() {
		if p := recover(); p != nil {
			c.server.opts.Log.Error("panic in a peer's request", "panic", p, "stack", string(debug.Stack()))
			j.body, j.reqs, j.results = nil, nil, nil // whatever has panicked may have left others at them
			j.refuse(c, classUnavailable)
		}
	}()
	c.server.metrics.served[j.kind].Inc()
	switch j.kind {
	case frameLoad:
		j.load(c)
	case frameForget:
		j.forget(c)
	case frameAsk:
		j.begin(c, frameRecord)
		j.out = appendText(j.out, c.server.handler.Record(c.name))
		j.out = endFrame(j.out, 0)
	case frameHottest:
		j.hottest(c)
	}
}

func (j *job) begin(c *inbound, k kind) {
	r := reply{id: j.head.id, ring: c.server.table()}
	j.out = r.append(beginFrame(j.out[:0], k))
}

func (j *job) refuse(c *inbound, why class) {
	j.begin(c, frameRefused)
	j.out = endFrame(append(j.out, byte(why)), 0)
}

func (j *job) load(c *inbound) {
	var err error
	if j.reqs, err = decodeReads(&j.rest, c.server.opts.Catalog, j.reqs); err != nil {
		j.refuse(c, classUseCase)
		return
	}
	for i := range j.reqs {
		if !c.shared[j.reqs[i].Key.UseCase.ID] {
			j.refuse(c, classUseCase)
			return
		}
	}
	remain := j.head.remain
	if remain == 0 {
		remain = longestWait
	}
	ctx, cancel := context.WithDeadline(j.caller, j.arrived.Add(remain))
	defer cancel()
	if ctx.Err() != nil {
		j.refuse(c, classLate)
		return
	}
	j.results = append(j.results[:0], make([]proxy.Result, len(j.reqs))...)
	c.server.handler.Load(ctx, j.reqs, j.results)
	j.begin(c, frameLoaded)
	j.out = appendResults(j.out, j.results, maxReply-1<<10, c.schemas.id)
	j.out = endFrame(j.out, 0)
}

// forget passes over keys that are none here: of them, nothing is kept. The name
// of a use case alone stands for all of it.
func (j *job) forget(c *inbound) {
	texts, err := decodeKeys(&j.rest, maxKeys)
	if err != nil {
		j.refuse(c, classUnavailable)
		return
	}
	keys := make([]proxy.Key, 0, len(texts))
	for _, text := range texts {
		if key, err := c.server.opts.Catalog.Key(text); err == nil {
			keys = append(keys, key)
		} else if u := c.server.opts.Catalog.Named(string(text)); u != nil {
			c.server.handler.Void(u)
		}
	}
	c.server.handler.Forget(keys)
	j.begin(c, frameForgotten)
	j.out = endFrame(j.out, 0)
}

func (j *job) hottest(c *inbound) {
	most := int(min(j.rest.uvarint(), maxHottest))
	member := string(j.rest.text(maxMember))
	if j.rest.end() != nil {
		j.refuse(c, classUnavailable)
		return
	}
	keys := c.server.handler.Hottest(member, most)
	j.begin(c, frameKeys)
	j.out = appendKeys(j.out, keys[:min(most, len(keys))])
	j.out = endFrame(j.out, 0)
}
