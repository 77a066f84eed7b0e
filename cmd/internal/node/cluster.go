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
//
// So is a slot of a node that is lost: whose connections have ended here. The
// membership notices that seconds later, and until then clients would be sent
// back to the dead:
//
//  1. b is killed; a's connections to it end
//  2. a client that b does not answer asks a, which answers it itself, as does
//     every other node that has lost b; one that has not yet sends it to b once
//     more, and is asked again milliseconds later
//
// A node that was never connected is not lost, nor is one that is idle.
// One that was lost and is connected again is a new owner:
//
//  1. b starts again, so fast that no list was without it, and a connects to it
//  2. a answers for settle. By then a has heard that b starts, or serves
//
// and one whose connections come and go is one that is lost: its slots are this
// node's until they have stayed for settle. Two nodes of which only one has lost
// b tell clients of different owners, and both answer for what they say they own.
//
// Of a loss clients have to learn: some go on asking the dead for as long as
// nobody tells them MOVED (command.Topology.Losses). And of a node that leaves,
// though it says MOVED itself as long as it goes on (farewell):
//
//  1. b leaves. A client asks a meanwhile, and b nothing
//  2. b has ended, and the client's next pipeline goes there
//
// So they are told of whoever is left without slots, either way.
//
// A node that is doubted has its slots, and nobody is sent there: its breaker is
// open, or its table of owners is another, and stays so if nodes are configured
// differently.
//
//  1. a has slots of b's by a's table, and b has them of a's by its own
//  2. each knows what table the other has told last, and answers itself
type cluster struct {
	self   string
	here   func() string // this node's listener that redirects, as host:port: no list is needed to know it
	view   func() *membership.View
	ways   ways // nil: there is nobody else
	settle time.Duration

	now    atomic.Pointer[known]
	making sync.Mutex // one makes the next, and the others go on with the last
}

// ways are the ways from this node to the others.
type ways interface {
	// reach says how the way to a member is.
	reach(member string) reach
	// changes is another number whenever connections have come or gone.
	changes() uint64
}

// reach is how the way to a member is: by its connections it is lost, or by what
// it does and says it is better not sent clients.
type reach struct{ lost, doubted bool }

// known is a topology with what it was made of. Immutable.
type known struct {
	topology *command.Topology
	view     *membership.View
	reaches  []reach // of its peers
	changes  uint64
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
		here := func() string { return n.tier.said().Redirects }
		return &cluster{self: n.tier.name, here: here, view: n.tier.membership.View, ways: n.tier, settle: n.tier.settles()}, nil
	}
	self := hashring.Member{Name: n.config.Node.Listen, Weight: 1}
	rings, err := hashring.New(hashring.Options{}, 1, []hashring.Member{self}, time.Now())
	if err != nil {
		return nil, err
	}
	alone := &membership.View{Rings: rings, Peers: []membership.Peer{{Member: self}}}
	return &cluster{self: self.Name, here: n.redirects, view: func() *membership.View { return alone }}, nil
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
	if last != nil && time.Since(last.looked) < topologyAge && last.changes == c.changes() {
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

func (c *cluster) changes() uint64 {
	if c.ways == nil {
		return 0
	}
	return c.ways.changes()
}

// reaches are the ways to the peers of a view.
func (c *cluster) reaches(view *membership.View) []reach {
	all := make([]reach, len(view.Peers))
	for i, p := range view.Peers {
		if c.ways != nil && p.Name != c.self {
			all[i] = c.ways.reach(p.Name)
		}
	}
	return all
}

// look makes the topology of a view and the ways to its members, or goes on with
// the last one.
func (c *cluster) look(last *known, view *membership.View, now time.Time) *known {
	changes := c.changes() // first: what changes meanwhile is looked at again
	reaches := c.reaches(view)
	if last != nil && len(last.moved) == 0 && view.Rings.Settled().IsZero() && alike(last.view, view) && slices.Equal(last.reaches, reaches) {
		next := *last
		next.view, next.changes, next.looked = view, changes, now
		return &next
	}
	next := &known{
		view: view, reaches: reaches, changes: changes, looked: now,
		owners: new([hashring.Slots]string), moved: map[int]time.Time{},
	}
	members, doubted, self := c.members(view, reaches)
	index := map[string]int{}
	for i, m := range members {
		index[m.Name] = i
	}
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
		return command.Placed{Owner: at, New: moving || doubted[at]}
	})
	if last != nil {
		next.topology.Follow(last.topology)
	}
	return next
}

// members are those that clients are told of: who owns slots, or is about to
// give them up, and has a listener that redirects. This node is one of them in
// any case. Those that are doubted are not sent clients.
func (c *cluster) members(view *membership.View, reaches []reach) (members []command.Member, doubted []bool, self int) {
	self = -1
	mine := memberAt(c.self, c.here())
	for i, p := range view.Peers {
		if p.Name == c.self {
			self = len(members)
			members, doubted = append(members, mine), append(doubted, false)
			continue
		}
		m := memberAt(p.Name, p.Redirects)
		if m.Host == "" || m.Port == 0 || p.State == hashring.Starting {
			continue
		}
		m.Away = p.State == hashring.Away || reaches[i].lost
		members, doubted = append(members, m), append(doubted, reaches[i].doubted)
	}
	if self < 0 {
		self = len(members)
		members, doubted = append(members, mine), append(doubted, false)
	}
	return members, doubted, self
}

// memberAt is a member whose listener that redirects is at an address.
func memberAt(name, address string) command.Member {
	host, port, _ := net.SplitHostPort(address)
	number, _ := strconv.Atoi(port)
	return command.Member{Name: name, Host: host, Port: number}
}

// alike reports whether clients are told the same of two views.
func alike(a, b *membership.View) bool {
	same := func(p, q membership.Peer) bool {
		return p.Name == q.Name && p.Redirects == q.Redirects && p.State == q.State
	}
	return a.Rings == b.Rings && slices.EqualFunc(a.Peers, b.Peers, same)
}
