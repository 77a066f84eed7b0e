package config

import "fmt"

// Listener is an address for Redis clients.
type Listener struct {
	Listen  string `yaml:"listen" doc:"The address. Required."`
	Routing string `yaml:"routing" default:"forward" enum:"forward,redirect" doc:"As node.routing."`
}

// Redirects reports whether clients of Redis Cluster are served there.
func (l Listener) Redirects() bool { return l.Routing == "redirect" }

// All returns the listeners for Redis clients: that of node.listen first.
func (n *Node) All() []Listener {
	return append([]Listener{{Listen: n.Listen, Routing: n.Routing}}, n.Listeners...)
}

// listenerAt is the path of a listener's address, in the order of All.
func listenerAt(i int) string {
	if i == 0 {
		return "node.listen"
	}
	return fmt.Sprintf("node.listeners[%d].listen", i-1)
}

func (c *Config) validateListeners(bad reporter) {
	taken := map[string]string{}
	for i, l := range c.Node.All() {
		at := listenerAt(i)
		if err := checkAddress(l.Listen); err != nil {
			bad(at, "%w", err)
			continue
		}
		if other := taken[l.Listen]; other != "" && !anyPort(l.Listen) {
			bad(at, "%s is %s too; give it a port of its own", l.Listen, other)
		}
		taken[l.Listen] = at
		if l.Redirects() && c.Tier.Placement == "skipper" && !c.Tier.Alone() {
			bad(at, "redirects, which needs slots that have owners, and with tier.placement: skipper only keys have; choose another placement, or routing: forward")
		}
		if len(c.Users) == 0 && !c.Node.Insecure && !Loopback(l.Listen) {
			bad(at, "others can reach %s, and there are no users; add users, or set node.insecure: true if the network itself keeps strangers out", l.Listen)
		}
	}
	if other := taken[c.Node.Admin]; other != "" && !anyPort(c.Node.Admin) {
		bad("node.admin", "%s is %s too; give it a port of its own", c.Node.Admin, other)
	}
}
