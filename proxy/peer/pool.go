package peer

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Pool is a node's client end: the peers it has, each with its connections.
type Pool struct {
	opts    Options
	ring    func() (version, checksum uint64)
	metrics *clientMetrics
	calls   sync.Pool // of *call
	dial    func(ctx context.Context, address string) (net.Conn, error)

	wake    chan struct{} // room for one: peers have come or go
	changes atomic.Uint64

	mu    sync.Mutex
	peers map[string]*Peer // by address
	ended bool
}

// NewPool returns a pool without peers. ring says what the node's table of
// owners is now; peers are told with every request.
func NewPool(o Options, ring func() (version, checksum uint64)) (*Pool, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Pool{opts: o, ring: ring, peers: map[string]*Peer{}, wake: make(chan struct{}, 1)}
	p.calls.New = func() any { return &call{done: make(chan answer, 1)} }
	p.metrics = newClientMetrics(p)
	dialer := &net.Dialer{}
	p.dial = func(ctx context.Context, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", address)
	}
	return p, nil
}

// To returns the peer at an address ("host:port"), made once and kept until
// Keep lets it go. A name that is not empty is the one that it must have from now
// on to be asked for keys; Ask works in any case, so that a node that came in
// the place of another can say so. Peers are connected while Run runs.
func (p *Pool) To(name, address string) *Peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	to := p.peers[address]
	if to == nil {
		to = newPeer(p, address)
		if p.ended {
			to.stop()
		}
		p.peers[address] = to
		signal(p.wake)
	}
	if name != "" {
		to.name.Store(&name)
	}
	return to
}

// Keep lets go of every peer whose address is not among these.
func (p *Pool) Keep(addresses []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for address, peer := range p.peers {
		if !slices.Contains(addresses, address) {
			peer.stop()
			delete(p.peers, address)
		}
	}
}

// Problems says in words which peers cannot be worked with because of how
// nodes are configured or built, in the order of their addresses.
func (p *Pool) Problems() []string {
	var problems []string
	for _, peer := range p.all() {
		if text := peer.problem(); text != "" {
			problems = append(problems, text)
		}
	}
	slices.Sort(problems)
	return problems
}

func (p *Pool) all() []*Peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*Peer, 0, len(p.peers))
	for _, peer := range p.peers {
		all = append(all, peer)
	}
	return all
}

// Run keeps connections to the peers until ctx ends; a pool runs once. It
// returns nil after the last of its goroutines has ended: calls that still
// wait then have ErrAway.
func (p *Pool) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for ctx.Err() == nil {
		for _, peer := range p.all() {
			if peer.start() {
				running.Go(func() { peer.run(ctx) })
			}
		}
		select {
		case <-p.wake:
		case <-ctx.Done():
		}
	}
	p.end()
	running.Wait()
	return nil
}

func (p *Pool) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, peer := range p.peers {
		peer.stop()
	}
}

// borrow returns a call that nobody uses.
func (p *Pool) borrow() *call { return p.calls.Get().(*call) }

func (p *Pool) giveBack(k *call) {
	k.load, k.forget.keys = load{}, nil
	clear(k.forget.texts[:cap(k.forget.texts)])
	if cap(k.out) <= keptBytes {
		p.calls.Put(k)
	}
}

// pause waits, shorter than d by chance; false: ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(jittered(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
