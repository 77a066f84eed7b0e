package node

import (
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
	"github.com/freshet-cache/freshet/proxy/command"
)

// topologyAge is how old a topology may be: while nodes fade in, slots move a
// few at a time.
const topologyAge = 500 * time.Millisecond

// cluster tells clients of Redis Cluster of the tier.
//
// A slot whose owner has changed is told of at once, but nobody is sent to its
// new owner until all nodes will have noticed (settle): two that do not agree
// would send a client to and fro, until it gives up.
//
//  1. a sees the slot move to b, and b does not yet
//  2. a client asks b, is sent to a, and from there to b
//
// As it is, a answers until b has long known. And a slot of a node that is
// away, or has no listener that redirects, is this node's to clients.
type cluster struct {
	self   string
	view   func() *membership.View
	settle time.Duration

	now    atomic.Pointer[known]
	making sync.Mutex // one makes the next, and the others go on with the last
}

// known is a topology with what it was made of. Immutable.
type known struct {
	topology *command.Topology
	view     *membership.View
	looked   time.Time
	owners   *[hashring.Slots]string
	moved    map[int]time.Time // slots that another node has for less than settle, and since when
}

// redirecting is the tier as clients of Redis Cluster are told of it: nil if no
// listener redirects. A node that is alone is a cluster of one.
func (n *Node) redirecting() (command.Cluster, error) {
	if !slices.ContainsFunc(n.config.Node.All(), config.Listener.Redirects) {
		return nil, nil
	}
	if n.tier != nil {
		return &cluster{self: n.tier.name, view: n.tier.membership.View, settle: n.tier.settles()}, nil
	}
	self := hashring.Member{Name: n.config.Node.Listen, Weight: 1}
	rings, err := hashring.New(hashring.Options{}, 1, []hashring.Member{self}, time.Now())
	if err != nil {
		return nil, err
	}
	alone := func() *membership.View {
		return &membership.View{Rings: rings, Peers: []membership.Peer{{Member: self, Redirects: n.redirects()}}}
	}
	return &cluster{self: self.Name, view: alone}, nil
}

// settles is how long a slot has to be with its owner until clients are sent
// there: until all nodes have heard of it and their topologies are not older.
func (t *tier) settles() time.Duration { return t.heardOf() + topologyAge }

// farewell is how long a node that leaves goes on. Clients of Redis Cluster
// have to hear MOVED in that time: some look for the owners again only then,
// and not when a node they know is gone.
func (t *tier) farewell() time.Duration {
	if !slices.ContainsFunc(t.config.Node.All(), config.Listener.Redirects) {
		return t.heardOf()
	}
	return t.heardOf() + t.settles() + 3*topologyAge
}

// Slot implements command.Cluster.
func (c *cluster) Slot(key []byte) int { return hashring.SlotOf(key) }

// Topology implements command.Cluster. It is made when it is asked for.
func (c *cluster) Topology() *command.Topology {
	last := c.now.Load()
	if last != nil && time.Since(last.looked) < topologyAge {
		return last.topology
	}
	if last == nil {
		c.making.Lock()
	} else if !c.making.TryLock() {
		return last.topology
	}
	defer c.making.Unlock()
	next := c.look(c.now.Load(), c.view(), time.Now())
	c.now.Store(next)
	return next.topology
}

// look makes the topology of a view, or goes on with the last one.
func (c *cluster) look(last *known, view *membership.View, now time.Time) *known {
	if last != nil && len(last.moved) == 0 && view.Rings.Settled().IsZero() && alike(last.view, view) {
		next := *last
		next.view, next.looked = view, now
		return &next
	}
	next := &known{view: view, looked: now, owners: new([hashring.Slots]string), moved: map[int]time.Time{}}
	members, index, self := c.members(view)
	next.topology = command.NewTopology(view.Rings.Version(), members, self, func(slot int) command.Placed {
		at, known := index[view.Rings.OwnerOfSlot(slot, now)]
		if !known || members[at].Away {
			at = self
		}
		next.owners[slot] = members[at].Name
		since, moving := now, at != self
		if last != nil && last.owners[slot] == members[at].Name {
			since = last.moved[slot]
			moving = now.Sub(since) < c.settle
		}
		if moving {
			next.moved[slot] = since
		}
		return command.Placed{Owner: at, New: moving}
	})
	return next
}

// members are those that clients are told of: who owns slots, or is about to
// give them up, and has a listener that redirects. This node is one of them in
// any case.
func (c *cluster) members(view *membership.View) (members []command.Member, index map[string]int, self int) {
	index = map[string]int{}
	for _, p := range view.Peers {
		host, port, err := net.SplitHostPort(p.Redirects)
		number, _ := strconv.Atoi(port)
		if p.Name != c.self && (err != nil || p.State == hashring.Starting) {
			continue
		}
		index[p.Name] = len(members)
		members = append(members, command.Member{Name: p.Name, Host: host, Port: number, Away: p.State == hashring.Away && p.Name != c.self})
	}
	if _, there := index[c.self]; !there {
		index[c.self] = len(members)
		members = append(members, command.Member{Name: c.self})
	}
	return members, index, index[c.self]
}

// alike reports whether clients are told the same of two views.
func alike(a, b *membership.View) bool {
	same := func(p, q membership.Peer) bool {
		return p.Name == q.Name && p.Redirects == q.Redirects && p.State == q.State
	}
	return a.Rings == b.Rings && slices.EqualFunc(a.Peers, b.Peers, same)
}
