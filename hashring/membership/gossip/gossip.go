package gossip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/freshet-cache/freshet/hashring/membership"
)

// Options of the gossip.
type Options struct {
	// Listen is where this node hears the others, HOST:PORT, by TCP and UDP.
	Listen string
	// Advertise is where they reach it, if that differs.
	Advertise string
	// Seeds are addresses of others, any of which will do; names that stand
	// for several are asked for all.
	Seeds []string
	// Key encrypts, with 16, 24 or 32 bytes. Without one all is sent in clear.
	Key []byte
	// Tier keeps tiers apart that can reach each other. Default: "freshet".
	Tier string
	// Owners names the members that have keys, as this node sees it: one that
	// starts again learns so that it was never gone.
	Owners func() []string
	// Every is the time between two calls to seeds that are not members, and
	// the most often that a new load is told. Default: 5 s.
	Every time.Duration
}

// maxTier bounds the name of a tier, which is in front of every message.
const maxTier = 64

// Directory is the members that gossip. It may be run once.
type Directory struct {
	options Options
	config  *memberlist.Config
	log     *slog.Logger
	self    atomic.Pointer[membership.Peer]
	missed  atomic.Bool   // by others, when it started
	changed chan struct{} // someone else
	news    chan struct{} // to tell of this node
	urgent  chan struct{} // to do so at once

	mu      sync.Mutex
	nodes   map[string]memberlist.Node
	trouble map[string]time.Time // and when it was last seen
}

// New makes a directory that tells others of self. It refuses addresses, keys
// and words that cannot be.
func New(self membership.Peer, log *slog.Logger, o Options) (*Directory, error) {
	o.Tier, o.Every = cmp.Or(o.Tier, "freshet"), cmp.Or(o.Every, 5*time.Second)
	if err := self.Check(); err != nil {
		return nil, err
	}
	if _, err := membership.Encode(self); err != nil {
		return nil, err
	}
	if len(o.Tier) > maxTier {
		return nil, fmt.Errorf("tier %q has more than %d bytes", o.Tier, maxTier)
	}
	if len(o.Key) > 0 {
		if err := memberlist.ValidateKey(o.Key); err != nil {
			return nil, fmt.Errorf("a key has 16, 24 or 32 bytes, not %d", len(o.Key))
		}
	}
	d := &Directory{
		options: o,
		log:     log,
		changed: make(chan struct{}, 1),
		news:    make(chan struct{}, 1),
		urgent:  make(chan struct{}, 1),
		nodes:   map[string]memberlist.Node{},
		trouble: map[string]time.Time{},
	}
	d.self.Store(&self)
	return d, d.configure()
}

func (d *Directory) configure() (err error) {
	c := memberlist.DefaultLANConfig()
	c.Name = d.self.Load().Name
	if c.BindAddr, c.BindPort, err = split(d.options.Listen); err != nil {
		return err
	}
	c.AdvertisePort = c.BindPort
	if d.options.Advertise != "" {
		if c.AdvertiseAddr, c.AdvertisePort, err = split(d.options.Advertise); err != nil {
			return err
		}
	}
	c.SecretKey, c.Label = d.options.Key, d.options.Tier
	// A node that comes back elsewhere is itself once its old place is dead.
	c.DeadNodeReclaimTime = time.Second
	c.Delegate, c.Events, c.Conflict = delegate{d}, events{d}, events{d}
	c.Logger = log.New(lines{d.log, func() { d.note(errKey.Error()) }}, "", 0)
	d.config = c
	return nil
}

func split(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("%q is no address; write HOST:PORT", address)
	}
	return cmp.Or(host, "0.0.0.0"), port, nil
}

var errKey = errors.New("gossip: messages that the key does not open: is it the same on all nodes?")

// Announce changes what the others are told of this node; its name stays. A
// new state is told at once.
func (d *Directory) Announce(self membership.Peer) error {
	if err := self.Check(); err != nil {
		return err
	}
	if _, err := membership.Encode(self); err != nil {
		return err
	}
	self.Name = d.config.Name
	if before := d.self.Swap(&self); before.State != self.State {
		signal(d.urgent)
	}
	signal(d.news)
	return nil
}

// Run takes part until ctx ends, and then says that this node leaves.
func (d *Directory) Run(ctx context.Context, tell func([]membership.Peer, error)) error {
	list, err := memberlist.Create(d.config)
	if err != nil {
		return fmt.Errorf("gossip at %s: %w", d.options.Listen, err)
	}
	defer list.Shutdown()
	d.call(list) // before the first list, which is half of one without them
	seeds := time.NewTimer(d.options.Every)
	defer seeds.Stop()
	quiet := time.NewTimer(0) // between two that this node tells
	defer quiet.Stop()
	var news chan struct{}
	for {
		select {
		case <-seeds.C:
			d.call(list)
			seeds.Reset(d.options.Every)
		case <-quiet.C:
			news = d.news
		case <-news:
			news = nil
			quiet.Reset(d.options.Every)
			d.spread(list)
		case <-d.urgent:
			d.spread(list)
		case <-d.changed:
		case <-ctx.Done():
			d.leave(list)
			return nil
		}
		tell(d.peers())
	}
}

// spread tells the others of this node anew.
func (d *Directory) spread(list *memberlist.Memberlist) {
	if err := list.UpdateNode(d.options.Every); err != nil {
		d.log.Debug("gossip: a change of this node may take its time", "error", err)
	}
}

// leave says first that this node gives its keys away, so that nobody waits
// for it to come back.
func (d *Directory) leave(list *memberlist.Memberlist) {
	self := *d.self.Load()
	self.State = leaving
	d.self.Store(&self)
	d.spread(list)
	if err := list.Leave(d.options.Every); err != nil {
		d.log.Debug("gossip: the others will miss this node before they know that it left", "error", err)
	}
}

// call joins the seeds that are not among the members.
func (d *Directory) call(list *memberlist.Memberlist) {
	nodes, missing := d.known(), []string(nil)
	for _, seed := range d.options.Seeds {
		if !slices.ContainsFunc(nodes, func(n memberlist.Node) bool { return n.Address() == seed }) {
			missing = append(missing, seed)
		}
	}
	if len(missing) == 0 {
		return
	}
	if reached, err := list.Join(missing); reached == 0 && len(nodes) == 1 {
		d.note(fmt.Sprintf("gossip: none of the seeds was reached: %v", err))
	}
}

// known returns who is there, by name.
func (d *Directory) known() []memberlist.Node {
	d.mu.Lock()
	defer d.mu.Unlock()
	byName := func(a, b memberlist.Node) int { return cmp.Compare(a.Name, b.Name) }
	return slices.SortedFunc(maps.Values(d.nodes), byName)
}

// peers returns the members, and what is wrong.
func (d *Directory) peers() (peers []membership.Peer, _ error) {
	var problems []error
	for _, n := range d.known() {
		p, err := membership.Decode(n.Name, n.Addr.String(), n.Meta)
		if err != nil {
			problems = append(problems, fmt.Errorf("gossip: what member %q at %s says of itself: %w", n.Name, n.Address(), err))
			continue
		}
		p.Known = d.missed.Load() && p.Name != d.config.Name
		peers = append(peers, p)
	}
	return peers, errors.Join(append(problems, d.noted()...)...)
}

// note keeps a problem for as long as it is seen again and again.
func (d *Directory) note(problem string) {
	d.mu.Lock()
	d.trouble[problem] = time.Now()
	d.mu.Unlock()
	signal(d.changed)
}

func (d *Directory) noted() (problems []error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for problem, seen := range d.trouble {
		if time.Since(seen) > 4*d.options.Every {
			delete(d.trouble, problem)
			continue
		}
		problems = append(problems, errors.New(problem))
	}
	slices.SortFunc(problems, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return problems
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
