package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/freshet-cache/freshet/cmd/internal/config"
)

const (
	zoneHosts = "nodes.freshet.test."            // has the addresses of all
	zonePeers = "_peer._tcp.nodes.freshet.test." // has their hosts and ports
)

// zone is a DNS server of one small zone.
type zone struct {
	conn net.PacketConn
	code dnsmessage.RCode // what is answered while the server is lost; RCodeSuccess: nothing is

	mu    sync.Mutex
	at    map[string]netip.AddrPort // of all that there may be
	names []string                  // of those that are
	lost  bool
}

// zoneServer is where this process asks for names; nil: where the machine asks. No
// test of this package runs beside another one.
var zoneServer atomic.Pointer[net.Addr]

// askZones has the process ask the server of the test that has one. It is called
// once, before anything looks up a name.
func askZones() {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if at := zoneServer.Load(); at != nil {
			network, address = (*at).Network(), (*at).String()
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
}

// newZone starts the server, and has this process ask it for every name.
func newZone(t *testing.T, at map[string]netip.AddrPort, lost dnsmessage.RCode) *zone {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	z := &zone{conn: conn, code: lost, at: at}
	address := conn.LocalAddr()
	zoneServer.Store(&address)
	var serving sync.WaitGroup
	serving.Go(func() { z.serve(t) })
	t.Cleanup(func() {
		zoneServer.Store(nil)
		conn.Close()
		serving.Wait()
	})
	return z
}

func (z *zone) list(names ...string) { z.change(func() { z.names = names }) }
func (z *zone) lose()                { z.change(func() { z.lost = true }) }
func (z *zone) find()                { z.change(func() { z.lost = false }) }

func (z *zone) change(f func()) {
	z.mu.Lock()
	defer z.mu.Unlock()
	f()
}

func (z *zone) serve(t *testing.T) {
	buffer := make([]byte, 1500)
	for {
		n, from, err := z.conn.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // of a datagram that nobody took
		}
		answer, err := z.answer(buffer[:n])
		if err != nil {
			t.Errorf("DNS: %v", err)
		}
		if answer != nil {
			_, _ = z.conn.WriteTo(answer, from) // as lost as any datagram may be
		}
	}
}

// answer makes the answer to a query; nil: none is given.
func (z *zone) answer(query []byte) ([]byte, error) {
	var p dnsmessage.Parser
	head, err := p.Start(query)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.lost && z.code == dnsmessage.RCodeSuccess {
		return nil, nil
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: head.ID, Response: true, Authoritative: true, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	known := false
	if m.Answers, known = z.recordsLocked(q); !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	if z.lost {
		m.RCode, m.Answers = z.code, nil
	}
	return m.Pack()
}

// recordsLocked are those of a question; known reports whether the name is.
func (z *zone) recordsLocked(q dnsmessage.Question) (records []dnsmessage.Resource, known bool) {
	add := func(body dnsmessage.ResourceBody) {
		records = append(records, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: body})
	}
	for _, name := range z.names {
		host := name + ".freshet.test."
		switch asked := q.Name.String(); {
		case asked == zonePeers:
			known = true
			if q.Type == dnsmessage.TypeSRV {
				add(&dnsmessage.SRVResource{Target: dnsmessage.MustNewName(host), Port: z.at[name].Port(), Weight: 1})
			}
		case asked == zoneHosts, asked == host:
			known = true
			if q.Type == dnsmessage.TypeA {
				add(&dnsmessage.AResource{A: z.at[name].Addr().As4()})
			}
		}
	}
	return records, known
}

// Nodes find each other by SRV records, and their targets by the same server.
// It falls silent, and comes back.
func TestTierByServiceRecords(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	at := map[string]netip.AddrPort{}
	for name, way := range s.ways {
		at[name] = netip.MustParseAddrPort(way.Address())
	}
	z := newZone(t, at, dnsmessage.RCodeSuccess)
	s.config.Tier.Members = nil
	s.config.Tier.DNS = config.TierDNS{Name: zonePeers, Every: config.Duration(100 * time.Millisecond)}
	s.findable(z, "resolve \""+zonePeers+"\"")
}

// Nodes find each other by the addresses of one name: all listen at one port.
// The server fails, and comes back.
func TestTierByAddressRecords(t *testing.T) {
	s := newSeveral(t, "a", "b", "c")
	at := onePort(t, s.names)
	z := newZone(t, at, dnsmessage.RCodeServerFailure)
	s.config.Tier.Members = nil
	s.config.Tier.DNS = config.TierDNS{Name: zoneHosts, Port: int(at["a"].Port()), Every: config.Duration(100 * time.Millisecond)}
	s.listens = func(name string) string { return at[name].String() }
	s.findable(z, "resolve \""+zoneHosts+"\"")
}

// onePort returns addresses of this machine, with a port that is free at all of
// them.
func onePort(t *testing.T, names []string) map[string]netip.AddrPort {
	t.Helper()
	const attempts = 20
	for range attempts {
		at, port := map[string]netip.AddrPort{}, 0
		for i, name := range names {
			ip := fmt.Sprintf("127.0.0.%d", i+1)
			l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port)))
			if err != nil && port == 0 {
				t.Fatal(err)
			}
			if err != nil {
				break
			}
			defer l.Close()
			at[name] = netip.MustParseAddrPort(l.Addr().String())
			port = int(at[name].Port())
		}
		if len(at) == len(names) {
			return at
		}
	}
	t.Skip("this machine has one address for loopback, and nodes at one port need several: on Linux it has")
	return nil
}
