package e2e

import (
	"net/netip"
	"slices"
	"testing"

	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/hashring/membership/kubernetes/apitest"
)

// pods are the nodes of a tier as an API server tells of them: a slice for each,
// since each has a port of its own here.
type pods struct {
	*apitest.Server
	s     *several
	way   *stack.Forwarder // to the server
	known []string
}

func newPods(t *testing.T, s *several) *pods {
	t.Helper()
	way, err := stack.NewForwarder()
	if err != nil {
		t.Fatal(err)
	}
	p := &pods{Server: apitest.New(t, "shop", "tier"), s: s, way: way}
	t.Cleanup(way.Close) // before the server, which waits for its connections
	way.To(p.Listener.Addr().String())
	s.config.Tier.Members = nil
	s.config.Tier.Kubernetes = config.Kubernetes{Namespace: "shop", Service: "tier", Port: "peers", Server: "http://" + way.Address()}
	return p
}

func (p *pods) lose() { p.way.Cut() }
func (p *pods) find() { p.way.Pass() }

func (p *pods) list(names ...string) {
	for _, name := range p.known {
		if !slices.Contains(names, name) {
			p.Remove(name)
		}
	}
	for _, name := range names {
		if !slices.Contains(p.known, name) {
			p.Set(p.slice(name, false))
		}
	}
	p.known = names
}

// slice has one pod, which is ready or terminates.
func (p *pods) slice(name string, terminates bool) discovery.EndpointSlice {
	at, ready, port := netip.MustParseAddrPort(p.s.ways[name].Address()), !terminates, "peers"
	number := int32(at.Port())
	return discovery.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Namespace: "shop"},
		AddressType: discovery.AddressTypeIPv4,
		Ports:       []discovery.EndpointPort{{Name: &port, Port: &number}},
		Endpoints: []discovery.Endpoint{{
			Addresses: []string{at.Addr().String()}, Conditions: discovery.EndpointConditions{Ready: &ready, Terminating: &terminates},
		}},
	}
}

// Nodes find each other by EndpointSlices. The API server goes away, and comes
// back.
func TestTierByEndpointSlices(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	p := newPods(t, s)
	s.findable(p, "kubernetes: endpoints of shop/tier")
}

// A pod that is to end gives its keys away before its node says anything.
func TestTierLetsAPodGo(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	p := newPods(t, s)
	p.list("a", "b", "c")
	s.all()
	p.Set(p.slice("c", true))
	s.agree("a", "b")
	if got := s.at("c").do("HGET", "users:1", "id"); got != "1" {
		t.Errorf("users:1 at a node that is to end: %s", got)
	}
}
