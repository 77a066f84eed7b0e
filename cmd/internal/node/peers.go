package node

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cache"
	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/hashring/membership"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/acl"
	"github.com/freshet-cache/freshet/proxy/peer"
	"github.com/freshet-cache/freshet/proxy/route"
)

// peers answers other nodes.
type peers struct {
	t     *tier
	cache *cache.Cache
	users *acl.Users // nil: everybody may everything
}

// errNoRight is of reads on behalf of a user to whom this node's own table does not
// give them. The node that let the user in has another table, and reads itself.
var errNoRight = fmt.Errorf("%w: this user may not read it at its owner", proxy.ErrUnavailable)

// Load implements peer.Handler. What the caller may not read by this node's own
// table is refused.
func (p peers) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	if p.may(proxy.CallerOf(ctx), reqs) {
		p.t.route.Forwarded().Load(ctx, reqs, results)
		return
	}
	for i := range results {
		results[i] = proxy.Result{Err: errNoRight}
	}
}

// may reports whether a caller may read all of a batch.
func (p peers) may(caller *proxy.Caller, reqs []proxy.Request) bool {
	if p.users == nil {
		return true
	}
	if caller == nil {
		return false
	}
	rights := p.users.Of(caller.Name)
	return rights != nil && !slices.ContainsFunc(reqs, func(r proxy.Request) bool { return rights.Of(r.Key.UseCase) < proxy.MayRead })
}

// Forget implements peer.Handler.
func (p peers) Forget(keys []proxy.Key) { p.t.route.Forwarded().Forget(keys) }

// Void implements peer.Handler.
func (p peers) Void(u *proxy.UseCase) { p.cache.Void(u) }

// Record implements peer.Handler. Who asks, and is about to start again, learns
// whether it has keys still.
func (p peers) Record(asker string) []byte {
	self := p.t.said()
	self.Known = asker != self.Name && p.t.membership.View().Owns(asker)
	record, err := membership.Encode(self)
	warned(p.t.log, err)
	return record
}

// Ring implements peer.Handler.
func (p peers) Ring() (version, checksum uint64) { return p.t.ring() }

// Hottest implements peer.Handler.
func (p peers) Hottest(member string, most int) [][]byte {
	rings, now := p.t.membership.View().Rings, time.Now()
	return p.t.route.Hottest(func(key []byte) bool { return rings.Explain(key, now).Final == member }, most)
}

func (n *Node) peerOptions(instance uint64) (o peer.Options, err error) {
	c := &n.config.Tier
	o = peer.Options{
		Name: c.Name, Instance: instance, Tier: tierOf(n.config), Database: n.system.Load,
		Catalog: n.catalog, Fingerprints: fingerprints(n.catalog),
		Drain: time.Duration(n.config.Node.DrainTimeout), Log: n.log,
	}
	if c.Key.Given() {
		o.Key = []byte(c.Key.Value())
	}
	if c.TLS.Enabled {
		o.ServerTLS, o.ClientTLS, err = peerTLS(&c.TLS)
	}
	return o, err
}

// tierOf is equal on nodes that follow the same changes of the same kind of
// source. (How source and brokers are reached may differ; that it is the same
// database, it says itself: see identified.)
func tierOf(c *config.Config) uint64 {
	source := "sqlite"
	if c.Source.Postgres.URL.Given() {
		source = "postgres"
	}
	topics := c.Stream.Kafka.Topic
	if c.Stream.Format == "debezium" {
		topics = strings.Join(c.Stream.Debezium.Topics, ",")
	}
	return hashOf(source, c.Stream.Format, topics)
}

// fingerprints are equal for use cases that mean the same: an answer of another
// node is one that this node could have given.
func fingerprints(catalog *proxy.Catalog) (all []uint64) {
	for _, u := range catalog.All() {
		m := u.Mapping
		words := []string{m.Name, m.Table, m.Column, fmt.Sprint(m.Replica)}
		for _, k := range m.Columns {
			words = append(words, fmt.Sprintf("%+v", k))
		}
		all = append(all, hashOf(words...))
	}
	return all
}

func hashOf(words ...string) uint64 {
	h := fnv.New64a()
	for _, w := range words {
		fmt.Fprintf(h, "%d:%s", len(w), w)
	}
	return h.Sum64()
}

// peerTLS is how both ends show a certificate.
func peerTLS(c *config.PeerTLS) (server, client *tls.Config, err error) {
	cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("tier.tls: %w", err)
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, nil, fmt.Errorf("tier.tls.ca_file: %w", err)
	}
	ca := x509.NewCertPool()
	if !ca.AppendCertsFromPEM(pem) {
		return nil, nil, fmt.Errorf("tier.tls.ca_file: %s holds no certificate in PEM", c.CAFile)
	}
	certs := []tls.Certificate{cert}
	server = &tls.Config{Certificates: certs, ClientCAs: ca, ClientAuth: tls.RequireAndVerifyClientCert}
	client = &tls.Config{Certificates: certs, RootCAs: ca, ServerName: c.ServerName}
	return server, client, nil
}

func routeOptions(c *config.Config, catalog *proxy.Catalog) route.Options {
	o := route.Options{Timeouts: make([]time.Duration, len(catalog.All()))}
	for _, u := range c.UseCases {
		o.Timeouts[catalog.Named(u.Name).ID] = time.Duration(u.Timeout)
	}
	return o
}

// longest is how long a read may take by any use case.
func longest(c *config.Config) (most time.Duration) {
	for _, u := range c.UseCases {
		most = max(most, time.Duration(u.Timeout))
	}
	return cmp.Or(most, time.Second)
}
