package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
)

// clientTier is a tier that the clients of others are tried on. Each node has a
// listener that forwards, and one that redirects. Its times are short, and leave
// clients on a busy machine the seconds in which they hear that a node leaves.
type clientTier struct {
	*shop
	peers   map[string]string // where nodes reach each other, also those that are not there
	members map[string]*clientMember
}

type clientMember struct {
	*node.Node
	stop func()
}

func (m *clientMember) forwards() string  { return m.Addresses()[0] }
func (m *clientMember) redirects() string { return m.Addresses()[1] }

// newClientTier starts the nodes n1, n2 and n3. n4 may join.
func newClientTier(t *testing.T) *clientTier {
	t.Helper()
	tr := &clientTier{shop: newStack(t, everyMapping()...), peers: map[string]string{}, members: map[string]*clientMember{}}
	c := &tr.config.Tier
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		tr.peers[name] = address(t)
		c.Members = append(c.Members, tr.peers[name])
	}
	c.Window, c.Grace = config.Duration(500*time.Millisecond), config.Duration(5*time.Second)
	c.Debounce, c.AskEvery = config.Duration(50*time.Millisecond), config.Duration(500*time.Millisecond)
	t.Cleanup(tr.broker().Close)
	tr.relay()
	for _, name := range []string{"n1", "n2", "n3"} {
		tr.begin(name)
	}
	tr.settle("n1", "n2", "n3")
	return tr
}

// begin starts a node and waits until it is ready.
func (tr *clientTier) begin(name string) {
	tr.t.Helper()
	own := *tr.config
	own.Node.Listeners = []config.Listener{{Listen: anyPort, Routing: "redirect"}}
	own.Tier.Name, own.Tier.Listen = name, tr.peers[name]
	n, err := node.Open(tr.t.Context(), &own, tr.log())
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.members[name] = &clientMember{Node: n, stop: tr.spawn(name, n.Run)}
	tr.await(n)
}

// leave ends a node as a deployment does.
func (tr *clientTier) leave(name string) {
	tr.members[name].stop()
	delete(tr.members, name)
}

// settle waits until every node tells clients of these, and sends them there.
func (tr *clientTier) settle(names ...string) {
	tr.t.Helper()
	for _, m := range tr.members {
		c := tr.client(m.redirects())
		var others []string
		for _, name := range names {
			if at := tr.members[name].redirects(); at != m.redirects() {
				others = append(others, at)
			}
		}
		slices.Sort(others)
		eventually(tr.t, "clients are sent to "+strings.Join(others, " and "), func() bool { return slices.Equal(sentTo(c), others) })
		c.Close()
	}
}

// sentTo lists where the keys of 300 users are, other than here.
func sentTo(c *client) (others []string) {
	for i := range 300 {
		_, err := c.Do("EXISTS", fmt.Sprintf("users:%d", i))
		if err == nil {
			continue
		}
		words := strings.Fields(err.Error())
		if words[0] == "MOVED" && !slices.Contains(others, words[2]) {
			others = append(others, words[2])
		}
	}
	slices.Sort(others)
	return others
}
