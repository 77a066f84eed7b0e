package node

import (
	"fmt"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/proxy/server"
)

// listenAll takes the ports for Redis clients. On an error it returns those
// that it has taken, too.
func listenAll(all []config.Listener) (taken []server.Listener, err error) {
	for i, each := range all {
		setting := "node.listen, or --listen"
		if i > 0 {
			setting = fmt.Sprintf("node.listeners[%d].listen", i-1)
		}
		l, err := listen(each.Listen, setting)
		if err != nil {
			return taken, err
		}
		taken = append(taken, server.Listener{Listener: l, Redirect: each.Redirects()})
	}
	return taken, nil
}

// redirects is where others reach the first listener that redirects, as
// reached says it; "" if there is none.
func (n *Node) redirects() string {
	for i, l := range n.listeners {
		if l.Redirect {
			return reached(n.config.Node.All()[i].Listen, l.Addr())
		}
	}
	return ""
}

// Addresses are where Redis clients are served, in the order of the
// configuration: that of node.listen first.
func (n *Node) Addresses() []string {
	addresses := make([]string, len(n.listeners))
	for i, l := range n.listeners {
		addresses[i] = l.Addr().String()
	}
	return addresses
}
