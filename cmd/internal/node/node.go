package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/freshet-cache/freshet/cache"
	"github.com/freshet-cache/freshet/cdc"
	"github.com/freshet-cache/freshet/cdc/audit"
	"github.com/freshet-cache/freshet/cdc/kafka"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/acl"
	"github.com/freshet-cache/freshet/proxy/command"
	"github.com/freshet-cache/freshet/proxy/ramp"
	"github.com/freshet-cache/freshet/proxy/server"
	"github.com/freshet-cache/freshet/proxy/source/clock"
)

// Node is one node of the tier.
type Node struct {
	config *config.Config
	log    *slog.Logger

	source    database
	catalog   *proxy.Catalog
	clock     *clock.Clock
	watermark *cdc.Watermark
	cache     *cache.Cache
	applier   *cdc.Applier
	connector *connected // nil: a relay ships the changes
	tail      *kafka.Tail
	auditor   *audit.Auditor // nil: this node does not audit
	prober    *prober
	users     *acl.Users // nil: everybody may everything
	tier      *tier      // nil: this node is alone
	server    *server.Server
	registry  registry

	listeners []server.Listener // for Redis clients, that of node.listen first
	admin     net.Listener

	wasReady atomic.Bool
	draining atomic.Bool
	system   atomic.Uint64 // which database the source is, as it says; 0: not known yet
}

// Open opens the source, once it is there, builds the node and takes its
// ports. Whoever does not call Run then calls Close.
func Open(ctx context.Context, c *config.Config, log *slog.Logger) (*Node, error) {
	return Seams{}.Open(ctx, c, log)
}

// Open is [Open] through the seams.
func (s Seams) Open(ctx context.Context, c *config.Config, log *slog.Logger) (*Node, error) {
	source, catalog, err := awaitSource(ctx, c, log)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	n, err := build(c, s, source, catalog, log)
	if err != nil {
		return nil, err
	}
	if n.listeners, err = listenAll(c.Node.All()); err == nil {
		n.admin, err = listen(c.Node.Admin, "node.admin, or --admin")
	}
	if err == nil && n.tier != nil {
		n.know(ctx)
		err = n.tier.open(n)
	}
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// Check opens the source and builds the node, but takes no port and talks to
// no broker: everything that a configuration can get wrong by itself or about
// its source is found.
func Check(ctx context.Context, c *config.Config) error {
	source, catalog, err := openSource(ctx, c)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	n, err := build(c, Seams{}, source, catalog, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	n.Close()
	return nil
}

func build(c *config.Config, seams Seams, source database, catalog *proxy.Catalog, log *slog.Logger) (*Node, error) {
	seams = seams.withDefaults()
	n := &Node{
		config: c, log: log, registry: newRegistry(),
		source: source, catalog: catalog, clock: clock.New(seams.Local), watermark: cdc.NewWatermark(),
	}
	if err := n.assemble(seams); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// assemble joins what the source's catalog makes possible: the path of a read
// from the server down to the source, and that of a change from the stream up
// to the cache.
func (n *Node) assemble(seams Seams) (err error) {
	c := n.config
	if n.connector, err = connect(c, n.source); err != nil {
		return err
	}
	source := seams.Source(n.ramped())
	if n.cache, err = cache.New(n.catalog, n.connector.inFront(source), n.watermark, n.clock, cacheOptions(c, n.catalog)); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	n.applier = cdc.NewApplier(n.catalog, n.cache, n.watermark, n.clock, n.log)
	n.auditor = n.audits(source)
	if n.tail, err = kafka.NewTail(kafkaOptions(c), n.follows(), n.log); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	n.prober = &prober{
		ask: n.identified(seams.Probe(n.source.Probe)), clock: n.clock, stream: n.watermark, steps: n.applier,
		every: time.Duration(c.Node.ProbeInterval), log: n.log,
	}
	if err = n.admit(); err != nil {
		return err
	}
	if n.tier, err = n.around(); err != nil {
		return fmt.Errorf("tier: %w", err)
	}
	asked := commandOptions(c)
	asked.Memory, asked.Reads = n.cache, n.cache.Reads
	asked.Scanner, _ = n.source.(proxy.Scanner)
	if n.users != nil {
		asked.Users = n.users
	}
	if asked.Cluster, err = n.redirecting(); err != nil {
		return err
	}
	commands := command.New(n.catalog, n.front(), inspector{n}, asked)
	o := serverOptions(c)
	if o.MaxConnections < c.Node.MaxClients {
		n.log.Warn("the limit on open files allows fewer clients than node.max_clients: raise it (ulimit -n), or lower the setting",
			"max_clients", c.Node.MaxClients, "allowed", o.MaxConnections)
	}
	n.server = server.New(commands, n.log, n.registry, o)
	n.register()
	return nil
}

// ramped is the source behind what keeps a cold node from pushing it over.
func (n *Node) ramped() proxy.Source {
	if !n.config.Source.Ramp {
		return n.source
	}
	r := ramp.New(n.source, ramp.Options{Wait: longest(n.config)})
	n.registry.MustRegister(r)
	return r
}

// front is what commands ask: the tier, or the own cache of a node that is
// alone.
func (n *Node) front() proxy.Source {
	if n.tier == nil {
		return n.cache
	}
	return n.tier.route
}

// listen takes a port. setting is where another address is to be given.
func listen(address, setting string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken by another process: end it, or choose another address with %s", address, setting)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: give an address of this machine as HOST:PORT with %s", err, setting)
	}
	return l, nil
}

// Address is where Redis clients are served.
func (n *Node) Address() string { return n.listeners[0].Addr().String() }

// Peers is where other nodes are served: "" if this one is alone.
func (n *Node) Peers() string {
	if n.tier == nil {
		return ""
	}
	return n.tier.listener.Addr().String()
}

// Admin is where /metrics and the like are served.
func (n *Node) Admin() string { return n.admin.Addr().String() }

// Run serves until ctx ends, then lets connections finish what they have sent,
// and returns after the last goroutine has ended.
func (n *Node) Run(ctx context.Context) error {
	n.log.Info("node starts", "listen", n.Address(), "admin", n.Admin())
	parts := []part{
		{"admin", n.serveAdmin},
		{"source", n.keepSource},
		{"cache", n.cache.Run},
		{"clock", n.prober.run},
		{"stream", n.follow},
		{"audit", n.audit},
	}
	parts = append(parts, n.tier.parts(n.Ready)...)
	parts = append(parts, part{"server", func(ctx context.Context) error { return n.server.Run(ctx, n.listeners...) }})
	err := live(ctx, n.drain, parts)
	n.log.Info("node has ended")
	return err
}

func (n *Node) drain() {
	n.draining.Store(true)
	n.log.Info("node drains")
	n.tier.leave()
}

// keepSource holds the source open for all that stands on it.
func (n *Node) keepSource(ctx context.Context) error {
	<-ctx.Done()
	return n.source.Close()
}

// Close gives back what Open took. It is not for a node that has run.
func (n *Node) Close() {
	for _, l := range n.listeners {
		l.Close()
	}
	if n.admin != nil {
		n.admin.Close()
	}
	if n.tier != nil && n.tier.listener != nil {
		n.tier.listener.Close()
	}
	if n.cache != nil {
		ended, end := context.WithCancel(context.Background())
		end()
		if err := n.cache.Run(ended); err != nil {
			n.log.Warn("close the cache", "error", err)
		}
	}
	if err := n.source.Close(); err != nil {
		n.log.Warn("close the source", "error", err)
	}
}
