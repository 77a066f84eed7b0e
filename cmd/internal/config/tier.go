package config

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tier is the nodes among which this one is. It has one directory: members,
// dns, gossip or kubernetes. Without any, this node is alone.
type Tier struct {
	Name       string     `yaml:"name" doc:"This node's name, its own in the tier, or ${NAME} of the environment. With placement: skipper, its address as the Skipper has it. Required with a directory."`
	Listen     string     `yaml:"listen" default:"127.0.0.1:6490" doc:"Address for the other nodes."`
	Announce   string     `yaml:"announce" doc:"Where they reach it, HOST:PORT, or ${NAME} of the environment; none: tier.listen, at the host where they find this node."`
	Clients    string     `yaml:"clients" doc:"Where Redis clients reach this node, HOST:PORT, as other nodes tell them; none: node.listen."`
	Redirects  string     `yaml:"redirects" doc:"Where clients of a Redis Cluster reach it; none: its first listener with routing: redirect."`
	Weight     int        `yaml:"weight" default:"1" min:"1" max:"100" doc:"This node's share of the keys, against the others'."`
	Zone       string     `yaml:"zone" doc:"Where this node stands, for people."`
	Key        Secret     `yaml:"key" doc:"What all nodes know and nobody else, at least 16 bytes: ${NAME} or file:PATH."`
	TLS        PeerTLS    `yaml:"tls" doc:"Encryption between nodes; both ends show a certificate."`
	Members    []string   `yaml:"members" doc:"Directory: the tier.listen of all nodes, HOST:PORT, in any order."`
	DNS        TierDNS    `yaml:"dns" doc:"Directory: a name whose addresses are the nodes'."`
	Gossip     Gossip     `yaml:"gossip" doc:"Directory: nodes find each other."`
	Kubernetes Kubernetes `yaml:"kubernetes" doc:"Directory: the pods behind a Service, from its EndpointSlices."`
	Placement  string     `yaml:"placement" default:"rendezvous" enum:"rendezvous,consistent,skipper" doc:"How slots are given to nodes; skipper: keys, to the nodes to which a Skipper would send them. The same on all nodes, as are fade, window and grace."`
	Fade       string     `yaml:"fade" default:"keep" enum:"keep,skipper" doc:"How keys move to a node that joins: each once, or by the rule of Skipper's fade-in."`
	Window     Duration   `yaml:"window" default:"30s" min:"0s" max:"1h" doc:"How long they take to move; 0s: they move at once."`
	Grace      Duration   `yaml:"grace" default:"10s" min:"100ms" max:"1h" doc:"How long a node that does not answer keeps its keys: more than a restart takes."`
	Debounce   Duration   `yaml:"debounce" default:"2s" min:"10ms" max:"1m" doc:"How long changes of the membership are gathered."`
	AskEvery   Duration   `yaml:"ask_every" default:"1s" min:"10ms" max:"1m" doc:"How often a node asks each other one what it is: not used with gossip."`
	WarmUp     int        `yaml:"warm_up" default:"0" min:"0" max:"1000000" doc:"Keys a second that a node that joins reads ahead of its clients, the others' hottest first; 0: none."`
}

// PeerTLS is encryption between nodes.
type PeerTLS struct {
	Enabled    bool   `yaml:"enabled" default:"false" doc:"Whether to use TLS."`
	CAFile     string `yaml:"ca_file" doc:"The certificates that sign the nodes', PEM. Required with TLS."`
	CertFile   string `yaml:"cert_file" doc:"This node's certificate, PEM. Required with TLS."`
	KeyFile    string `yaml:"key_file" doc:"The certificate's key, PEM. Required with TLS."`
	ServerName string `yaml:"server_name" doc:"The name that all nodes' certificates have; none: each that of the host where it is reached."`
}

// TierDNS is a directory in DNS.
type TierDNS struct {
	Name  string   `yaml:"name" doc:"The name to resolve."`
	Port  int      `yaml:"port" default:"0" min:"0" max:"65535" doc:"The port of all nodes' tier.listen; 0: the name has SRV records, which say it."`
	Every Duration `yaml:"every" default:"5s" min:"100ms" max:"1h" doc:"How often it is resolved."`
}

// Gossip is a directory of nodes that find each other.
type Gossip struct {
	Listen   string   `yaml:"listen" doc:"Address for gossip, by TCP and UDP."`
	Announce string   `yaml:"announce" doc:"Where others reach it, HOST:PORT; none: the address itself, or this machine's first."`
	Seeds    []string `yaml:"seeds" doc:"Some of the others' gossip addresses, HOST:PORT; a name may stand for several."`
	Tier     string   `yaml:"tier" default:"freshet" doc:"A name for the tier, where several could hear each other."`
}

// Kubernetes is a directory of pods.
type Kubernetes struct {
	Namespace string `yaml:"namespace" doc:"The namespace of the Service."`
	Service   string `yaml:"service" doc:"The Service, a headless one."`
	Port      string `yaml:"port" doc:"The name of the port for other nodes; may be left out where there is one."`
	Server    string `yaml:"server" doc:"URL of the API server; none: that of the cluster this node runs in."`
	TokenFile string `yaml:"token_file" doc:"With server: the file of a token."`
	CAFile    string `yaml:"ca_file" doc:"With server: the certificates to trust, PEM."`
}

// leastKey is what a shared key has of bytes: 128 bits, if they are random.
const leastKey = 16

// Directories names those that are given: one, or none where this node is
// alone.
func (t *Tier) Directories() (given []string) {
	for _, d := range []struct {
		name  string
		given bool
	}{
		{"members", len(t.Members) > 0},
		{"dns", t.DNS.Name != ""},
		{"gossip", t.Gossip.Listen != "" || len(t.Gossip.Seeds) > 0},
		{"kubernetes", t.Kubernetes.Service != "" || t.Kubernetes.Namespace != ""},
	} {
		if d.given {
			given = append(given, d.name)
		}
	}
	return given
}

// Alone reports whether this node is of no tier.
func (t *Tier) Alone() bool { return len(t.Directories()) == 0 }

func (c *Config) validateTier(bad reporter) {
	t := &c.Tier
	switch given := t.Directories(); {
	case len(given) == 0:
		if t.Name != "" || t.Key.Given() || t.TLS.Enabled {
			bad("tier", "a name, a key or tls is given, but no directory: this node would be alone; say where the others are with one of members, dns, gossip and kubernetes, or remove them")
		}
		return
	case len(given) > 1:
		bad("tier", "%s are given; keep one directory", strings.Join(given, " and "))
	}
	validateName(t.Name, bad)
	c.validateReach(bad)
	c.validateStrangers(bad)
	t.TLS.validate(bad)
	t.validateDirectory(bad)
}

func validateName(name string, bad reporter) {
	switch {
	case name == "":
		bad("tier.name", "is required; give each node a name of its own, such as ${HOSTNAME}")
	case len(name) > 255 || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		bad("tier.name", "%q is no name; use up to 255 bytes of UTF-8 without control characters", name)
	}
}

// validateReach sees to it that others can reach what they are told of.
func (c *Config) validateReach(bad reporter) {
	t := &c.Tier
	if err := checkAddress(t.Listen); err != nil {
		bad("tier.listen", "%w", err)
	}
	c.validatePorts(bad)
	for _, a := range []struct{ path, value string }{
		{"tier.announce", t.Announce}, {"tier.clients", t.Clients}, {"tier.redirects", t.Redirects}, {"tier.gossip.announce", t.Gossip.Announce},
	} {
		if a.value != "" && variable(a.value) == "" {
			checkAnnounced(a.path, a.value, bad)
		}
	}
}

// validatePorts sees to it that no address is taken twice: the second could not
// be.
func (c *Config) validatePorts(bad reporter) {
	t := &c.Tier
	taken := map[string]string{c.Node.Admin: "node.admin"}
	for i, l := range c.Node.All() {
		taken[l.Listen] = listenerAt(i)
	}
	for _, own := range []struct{ path, value string }{{"tier.listen", t.Listen}, {"tier.gossip.listen", t.Gossip.Listen}} {
		if other := taken[own.value]; own.value != "" && other != "" && !anyPort(own.value) {
			bad(own.path, "%s is %s too; give it a port of its own", own.value, other)
		}
		taken[own.value] = own.path
	}
}

func checkAnnounced(path, address string, bad reporter) {
	if err := checkAddress(address); err != nil {
		bad(path, "%w", err)
	} else if wildcard(address) || anyPort(address) {
		bad(path, "%s is no address that others can reach; name this machine's, or leave this out: they then take the host where they find this node", address)
	}
}

// validateStrangers sees to it that whoever can reach this node as a peer has
// to be one.
func (c *Config) validateStrangers(bad reporter) {
	t := &c.Tier
	if c.Node.Insecure {
		return
	}
	if checkAddress(t.Listen) == nil && !Loopback(t.Listen) && !t.Key.Given() && !t.TLS.Enabled {
		bad("tier.listen", "others can reach %s, and anybody could be a node; give tier.key or tier.tls, or set node.insecure: true if the network itself keeps strangers out", t.Listen)
	}
	if g := t.Gossip.Listen; checkAddress(g) == nil && !Loopback(g) && !t.Key.Given() {
		bad("tier.gossip.listen", "others can reach %s, and anybody could be a node; give tier.key, which encrypts gossip, or set node.insecure: true if the network itself keeps strangers out", g)
	}
}

func (t *PeerTLS) validate(bad reporter) {
	files := 0
	for _, f := range []string{t.CAFile, t.CertFile, t.KeyFile} {
		if f != "" {
			files++
		}
	}
	if t.Enabled && files < 3 {
		bad("tier.tls", "both ends show a certificate; give ca_file, cert_file and key_file")
	}
	if !t.Enabled && (files > 0 || t.ServerName != "") {
		bad("tier.tls", "files or a name are given, but TLS is off; set enabled: true or remove them")
	}
}

func (t *Tier) validateDirectory(bad reporter) {
	for i, m := range t.Members {
		at := fmt.Sprintf("tier.members[%d]", i)
		if err := checkAddress(m); err != nil {
			bad(at, "%w", err)
		} else if wildcard(m) || anyPort(m) {
			bad(at, "%s is no address that others can reach; name each node's as they see it", m)
		}
		if slices.Contains(t.Members[:i], m) {
			bad(at, "%s is given twice; name each node once", m)
		}
	}
	g := &t.Gossip
	if (g.Listen != "" || len(g.Seeds) > 0) && checkAddress(g.Listen) != nil {
		bad("tier.gossip.listen", "%w", checkAddress(g.Listen))
	}
	for i, s := range g.Seeds {
		if err := checkAddress(s); err != nil {
			bad(fmt.Sprintf("tier.gossip.seeds[%d]", i), "%w", err)
		}
	}
	k := &t.Kubernetes
	if (k.Service == "") != (k.Namespace == "") {
		bad("tier.kubernetes", "namespace and service belong together; give both")
	}
	if k.Server == "" && (k.TokenFile != "" || k.CAFile != "") {
		bad("tier.kubernetes", "files are given, but no server; name it or remove them")
	}
}

// wildcard reports whether an address is of no machine.
func wildcard(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "" || ip != nil && ip.IsUnspecified())
}

// fromEnvironment puts in what is of this machine: all nodes may then have one
// configuration.
func (t *Tier) fromEnvironment(lookup func(string) (string, bool), bad reporter) {
	for _, s := range []struct {
		path  string
		value *string
		check func(string)
	}{
		{"tier.name", &t.Name, func(name string) { validateName(name, bad) }},
		{"tier.announce", &t.Announce, func(address string) { checkAnnounced("tier.announce", address, bad) }},
	} {
		name := variable(*s.value)
		if name == "" {
			continue
		}
		value, ok := lookup(name)
		if !ok || value == "" {
			bad(s.path, "the environment has no %s; set it, or write the value out", name)
			continue
		}
		*s.value = value
		s.check(value)
	}
	if n := len(t.Key.Value()); t.Key.Given() && n < leastKey {
		bad("tier.key", "has %d bytes; use at least %d, random ones", n, leastKey)
	}
}
