package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/hashring"
)

// Resolver asks DNS: a [net.Resolver].
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	LookupSRV(ctx context.Context, service, proto, name string) (cname string, targets []*net.SRV, err error)
}

// DNS is the directory of a name. Members are named HOST:PORT, so each node
// has to know itself by the same.
type DNS struct {
	// Name is what is asked for: with a Port its A records, or the AAAA
	// records where there are no others (a node that had both would be two
	// members), and without one its SRV records (such as
	// _peer._tcp.freshet.example).
	Name string
	// Port is where all members listen.
	Port int
	// Weights takes the members' weights from SRV records. Without it they
	// weigh the same: servers such as Kubernetes' give weights that sum up to
	// 100, which would place all keys anew with each member.
	Weights bool
	// Every is the time between two questions. Default: 5 s.
	Every time.Duration
	// Timeout of one question. Default: 3 s.
	Timeout time.Duration
	// Resolver answers. Default: the system's.
	Resolver Resolver
}

// Run asks again and again.
func (d DNS) Run(ctx context.Context, tell func([]Peer, error)) error {
	d.Every = cmp.Or(d.Every, 5*time.Second)
	d.Timeout = cmp.Or(d.Timeout, 3*time.Second)
	if d.Resolver == nil {
		d.Resolver = net.DefaultResolver
	}
	ticker := time.NewTicker(d.Every)
	defer ticker.Stop()
	for {
		peers, err := d.ask(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			err = fmt.Errorf("resolve %q: %w", d.Name, err)
		}
		tell(peers, err)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (d DNS) ask(ctx context.Context) ([]Peer, error) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	if d.Port == 0 {
		return d.targets(ctx)
	}
	addresses, err := d.Resolver.LookupNetIP(ctx, "ip", d.Name)
	if err != nil {
		return nil, err
	}
	old := func(a netip.Addr) bool { return a.Unmap().Is4() }
	mixed := slices.ContainsFunc(addresses, old)
	var peers []Peer
	for _, a := range addresses {
		if !mixed || old(a) {
			peers = append(peers, peerAt(netip.AddrPortFrom(a.Unmap(), uint16(d.Port)).String(), 1))
		}
	}
	return once(peers), nil
}

// targets are the SRV records. One target that makes no member refuses them
// all: half a tier is no tier.
func (d DNS) targets(ctx context.Context) ([]Peer, error) {
	_, targets, err := d.Resolver.LookupSRV(ctx, "", "", d.Name)
	if err != nil {
		return nil, err
	}
	var peers []Peer
	for _, t := range targets {
		host := strings.ToLower(strings.TrimSuffix(t.Target, "."))
		if host == "" || t.Port == 0 {
			return nil, errors.New("an SRV record without target or port")
		}
		weight := 1
		if d.Weights {
			weight = int(t.Weight)
		}
		peers = append(peers, peerAt(net.JoinHostPort(host, strconv.Itoa(int(t.Port))), weight))
	}
	return once(peers), nil
}

func peerAt(address string, weight int) Peer {
	return Peer{Member: hashring.Member{Name: address, Weight: weight}, Address: address}
}

// once drops records that are there twice.
func once(peers []Peer) []Peer {
	slices.SortFunc(peers, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(peers, func(a, b Peer) bool { return a.Name == b.Name })
}
