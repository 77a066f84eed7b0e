package membership

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// zone is a resolver with answers that a test changes.
type zone struct {
	mu        sync.Mutex
	addresses []string
	targets   []*net.SRV
	err       error
	silent    bool
	asked     string
}

// change lets a test give other answers.
func (z *zone) change(f func(*zone)) {
	z.mu.Lock()
	defer z.mu.Unlock()
	f(z)
}

func (z *zone) answer(ctx context.Context, name string) error {
	var silent bool
	var err error
	z.change(func(z *zone) { z.asked, silent, err = name, z.silent, z.err })
	if silent {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (z *zone) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	var list []netip.Addr
	z.mu.Lock()
	for _, a := range z.addresses {
		list = append(list, netip.MustParseAddr(a))
	}
	z.mu.Unlock()
	return list, z.answer(ctx, network+" "+host)
}

func (z *zone) LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error) {
	return "", z.targets, z.answer(ctx, service+proto+name)
}

// ask returns what a DNS directory tells first.
func ask(t *testing.T, d DNS) (said string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d.Run(ctx, func(peers []Peer, e error) {
			var names []string
			for _, p := range peers {
				if p.Name != p.Address {
					t.Errorf("%q is reached at %q", p.Name, p.Address)
				}
				names = append(names, p.Name+strings.Repeat("*", p.Weight))
			}
			said, err = strings.Join(names, " "), e
			cancel()
		})
	})
	return said, err
}

func TestDNSTellsMembers(t *testing.T) {
	srv := func(target string, port, weight uint16) *net.SRV {
		return &net.SRV{Target: target, Port: port, Weight: weight}
	}
	for name, c := range map[string]struct {
		zone    *zone
		port    int
		weights bool
		want    string
		problem string
	}{
		"A":             {zone: &zone{addresses: []string{"10.0.0.2", "10.0.0.1"}}, port: 7400, want: "10.0.0.1:7400* 10.0.0.2:7400*"},
		"AAAA":          {zone: &zone{addresses: []string{"fd00::2", "fd00::1"}}, port: 7400, want: "[fd00::1]:7400* [fd00::2]:7400*"},
		"both":          {zone: &zone{addresses: []string{"fd00::1", "10.0.0.1"}}, port: 7400, want: "10.0.0.1:7400*"},
		"mapped, twice": {zone: &zone{addresses: []string{"::ffff:10.0.0.1", "10.0.0.1"}}, port: 7400, want: "10.0.0.1:7400*"},
		"SRV": {zone: &zone{targets: []*net.SRV{srv("b.example.", 7401, 50), srv("A.example.", 7400, 50), srv("a.example.", 7400, 1)}},
			want: "a.example:7400* b.example:7401*"},
		"SRV with weights":   {zone: &zone{targets: []*net.SRV{srv("b.", 1, 2), srv("a.", 1, 1)}}, weights: true, want: "a:1* b:1**"},
		"SRV without target": {zone: &zone{targets: []*net.SRV{srv("a.", 1, 1), srv(".", 1, 1)}}, problem: "without target or port"},
		"SRV without port":   {zone: &zone{targets: []*net.SRV{srv("a.", 0, 1)}}, problem: "without target or port"},
		"no such name":       {zone: &zone{err: &net.DNSError{Err: "no such host", IsNotFound: true}}, port: 1, problem: `resolve "tier.example": `},
		"no such SRV":        {zone: &zone{err: errors.New("server misbehaving")}, problem: "server misbehaving"},
		"silence":            {zone: &zone{silent: true}, port: 1, problem: "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			z := c.zone
			said, err := ask(t, DNS{Name: "tier.example", Port: c.port, Weights: c.weights, Resolver: z})
			if said != c.want || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("told %q, %v; want %q, %q", said, err, c.want, c.problem)
			}
			if want := "tier.example"; !strings.HasSuffix(z.asked, want) {
				t.Errorf("asked for %q", z.asked)
			}
		})
	}
}

// Asked again and again, over an outage: the membership keeps what it had.
func TestDNSIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		z := &zone{addresses: []string{"10.0.0.1"}}
		counts, failures := []int{}, 0
		done := make(chan error)
		go func() {
			done <- DNS{Name: "tier", Port: 1, Resolver: z}.Run(ctx, func(peers []Peer, err error) {
				if err != nil {
					failures++
				}
				counts = append(counts, len(peers))
			})
		}()
		pass(time.Second)
		z.change(func(z *zone) { z.addresses = append(z.addresses, "10.0.0.2") })
		pass(5 * time.Second)
		z.change(func(z *zone) { z.err = errors.New("refused") })
		pass(5 * time.Second)
		z.change(func(z *zone) { z.err, z.addresses = nil, nil })
		pass(5 * time.Second)
		cancel()
		if err := <-done; err != nil || failures != 1 || len(counts) != 4 || counts[1] != 2 || counts[3] != 0 {
			t.Errorf("%v, %d failures, counts %v", err, failures, counts)
		}
	})
}

func TestStaticTellsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		told := 0
		done := make(chan error)
		go func() {
			done <- Static(list("a", "b")).Run(ctx, func(peers []Peer, err error) {
				if told++; len(peers) != 2 || err != nil {
					t.Errorf("%v, %v", peers, err)
				}
			})
		}()
		pass(time.Hour)
		cancel()
		if err := <-done; err != nil || told != 1 {
			t.Errorf("%v, told %d times", err, told)
		}
	})
}
