package route

import (
	"context"
	"sync"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// batch is a batch of reads, split by where they go.
type batch struct {
	own    part
	peers  []group
	number int // of peers in use; the rest keep their room for later
}

// part has some requests of a batch, and where their answers belong.
type part struct {
	at      []int
	reqs    []proxy.Request
	results []proxy.Result
}

// group is what goes to one peer together: keys that may wait equally long.
type group struct {
	part
	peer    Peer
	timeout time.Duration
}

// keep is how many requests a part may have had and still be used again: one
// MGET of 100,000 keys must not stay for ever.
const keep = 1024

func (p *part) add(i int, req proxy.Request) {
	p.at = append(p.at, i)
	p.reqs = append(p.reqs, req)
	p.results = append(p.results, proxy.Result{})
}

func (p *part) merge(results []proxy.Result) {
	for j, i := range p.at {
		results[i] = p.results[j]
	}
}

// reset empties a part and lets go of its keys and rows.
func (p *part) reset() {
	if cap(p.reqs) > keep {
		*p = part{}
		return
	}
	clear(p.reqs)
	clear(p.results)
	p.at, p.reqs, p.results = p.at[:0], p.reqs[:0], p.results[:0]
}

// begin takes a batch, with requests that the own path is to answer.
func (r *Route) begin(own []proxy.Request) *batch {
	b := r.batches.Get().(*batch)
	for i := range own {
		b.own.add(i, own[i])
	}
	return b
}

// end gives a batch back.
func (r *Route) end(b *batch) {
	b.own.reset()
	for i := range b.number {
		b.peers[i].reset()
		b.peers[i].peer = nil
	}
	b.number = 0
	r.batches.Put(b)
}

// to returns the group for a peer. There are few: a tier's nodes.
func (b *batch) to(peer Peer, timeout time.Duration) *group {
	for i := range b.number {
		if g := &b.peers[i]; g.peer == peer && g.timeout == timeout {
			return g
		}
	}
	if b.number == len(b.peers) {
		b.peers = append(b.peers, group{})
	}
	g := &b.peers[b.number]
	b.number++
	g.peer, g.timeout = peer, timeout
	return g
}

// merge answers the whole batch.
func (b *batch) merge(results []proxy.Result) {
	b.own.merge(results)
	for i := range b.number {
		b.peers[i].merge(results)
	}
}

// run answers all parts of a batch at once: one of them here, the others each on
// a goroutine of its own.
func (r *Route) run(ctx context.Context, b *batch, hot int) {
	var others sync.WaitGroup
	groups := b.peers[:b.number]
	here := func() { r.loadOwn(ctx, b.own.reqs, b.own.results, hot) }
	if len(b.own.reqs) == 0 {
		first := &groups[0]
		here, groups = func() { r.ask(ctx, first) }, groups[1:]
	}
	for i := range groups {
		others.Go(func() { r.ask(ctx, &groups[i]) })
	}
	here()
	others.Wait()
}
