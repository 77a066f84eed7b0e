package node

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
	"github.com/freshet-cache/freshet/hashring/membership/gossip"
	"github.com/freshet-cache/freshet/proxy/peer"
	"github.com/freshet-cache/freshet/proxy/route"
)

// tier is the nodes around this one: who is there, who owns what, and the ways
// to each other.
type tier struct {
	config   *config.Config
	log      *slog.Logger
	name     string
	degraded func() bool // whether this node is not all that it can be

	asker      *asker
	pool       *peer.Pool
	server     *peer.Server
	gossip     *gossip.Directory // nil: nodes are asked
	membership *membership.Membership
	route      *route.Route
	listener   net.Listener // for other nodes
	place      atomic.Pointer[placement]

	mu   sync.Mutex
	self membership.Peer // what this node says of itself
}

// around makes the tier around a node: nil if it is alone.
func (n *Node) around() (*tier, error) {
	c := &n.config.Tier
	if c.Alone() {
		return nil, nil
	}
	t := &tier{config: n.config, log: n.log, name: c.Name, asker: &asker{last: map[string]time.Time{}}}
	t.degraded = func() bool { return len(n.problems()) > 0 }
	t.self = membership.Peer{
		Member:   hashring.Member{Name: c.Name, Weight: c.Weight, Zone: c.Zone, State: hashring.Starting},
		Version:  Version(),
		Instance: rand.Uint64(),
	}
	o, err := n.peerOptions(t.self.Instance)
	if err != nil {
		return nil, err
	}
	if t.pool, err = peer.NewPool(o, t.ring); err != nil {
		return nil, err
	}
	t.asker.pool = t.pool
	if t.server, err = peer.NewServer(peers{t, n.cache, n.users}, o); err != nil {
		return nil, err
	}
	directory, err := t.directory(c)
	if err != nil {
		return nil, err
	}
	if t.membership, err = membership.New(t.self, directory, n.log, t.memberOptions(c)); err != nil {
		return nil, err
	}
	t.route = route.New(n.catalog, n.cache, t, routeOptions(n.config, n.catalog))
	return t, nil
}

func (t *tier) memberOptions(c *config.Tier) membership.Options {
	return membership.Options{
		Rings: hashring.Options{
			Placement: hashring.Placement(c.Placement), Fade: hashring.Fade(c.Fade), Window: time.Duration(c.Window),
		},
		Debounce: time.Duration(c.Debounce), Grace: time.Duration(c.Grace), Changed: t.took,
	}
}

// open takes the port for other nodes, and says where this node is.
func (t *tier) open(n *Node) (err error) {
	c := &t.config.Tier
	if t.listener, err = listen(c.Listen, "tier.listen"); err != nil {
		return err
	}
	t.announce(func(self *membership.Peer) {
		self.Address = cmp.Or(c.Announce, reached(c.Listen, t.listener.Addr()))
		self.Clients = cmp.Or(c.Clients, reached(t.config.Node.Listen, n.listeners[0].Addr()))
		self.Redirects = cmp.Or(c.Redirects, n.redirects())
	})
	if _, err := membership.Encode(t.said()); err != nil {
		return fmt.Errorf("what this node says of itself: %w", err)
	}
	return nil
}

// reached is where others reach a listener: without a host if it listens
// everywhere, since they know where this node is.
func reached(configured string, taken net.Addr) string {
	host, _, _ := net.SplitHostPort(configured)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		_, port, _ := net.SplitHostPort(taken.String())
		return ":" + port
	}
	return taken.String()
}

// said is what this node says of itself.
func (t *tier) said() membership.Peer {
	degraded := t.degraded()
	t.mu.Lock()
	defer t.mu.Unlock()
	self := t.self
	self.Degraded = degraded
	return self
}

// announce changes what this node says of itself.
func (t *tier) announce(change func(*membership.Peer)) {
	degraded := t.degraded()
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.self)
	t.self.Degraded = degraded
	if t.gossip != nil {
		warned(t.log, t.gossip.Announce(t.self))
	}
}

// parts are what runs for a tier, in the order in which they stand on each
// other.
func (t *tier) parts(ready func(context.Context) error) []part {
	if t == nil {
		return nil
	}
	return []part{
		{"peers", t.pool.Run},
		{"peer port", func(ctx context.Context) error { return t.server.Run(ctx, t.listener) }},
		{"members", t.membership.Run},
		{"place in the tier", func(ctx context.Context) error { return t.join(ctx, ready) }},
	}
}

// problems says what is wrong with the tier. None of it keeps a node from
// serving.
func (t *tier) problems() (all []string) {
	if t == nil {
		return nil
	}
	view := t.membership.View()
	if view.Problem != nil {
		all = append(all, "tier: "+view.Problem.Error())
	} else if _, there := view.Peer(t.name); !there {
		all = append(all, "tier: this node is not among the members, so it owns no keys: is it in the list?")
	}
	for _, p := range t.pool.Problems() {
		all = append(all, "tier: "+p)
	}
	return all
}
