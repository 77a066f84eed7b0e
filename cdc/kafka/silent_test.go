package kafka

import (
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

func logger(b *buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// silent is a broker that accepts and never answers. It says when it was first
// asked something.
func silent(t testing.TB) (addr string, asked <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open []net.Conn
	first, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if open = append(open, c); len(open) == 1 {
				c.Read(make([]byte, 1))
				close(first)
			}
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		for _, c := range open {
			c.Close()
		}
	})
	return l.Addr().String(), first
}

// switchboard knows the connections of a cluster by the broker they lead to.
type switchboard struct {
	mu    sync.Mutex
	conns map[string][]net.Conn
}

func (s *switchboard) listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	return switchedListener{l, s}, err
}

// hangUp breaks the connections to one broker.
func (s *switchboard) hangUp(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns[addr] {
		c.Close()
	}
}

type switchedListener struct {
	net.Listener
	s *switchboard
}

func (l switchedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.s.conns == nil {
		l.s.conns = map[string][]net.Conn{}
	}
	l.s.conns[c.LocalAddr().String()] = append(l.s.conns[c.LocalAddr().String()], c)
	return c, nil
}

// muzzle wraps the listeners of a cluster: while it is on, whatever a broker
// says is held back, on connections that stay open.
type muzzle struct {
	mu     sync.Mutex
	on     bool
	off    chan struct{}
	allow  int // answers per connection that pass although it is on
	hangup chan struct{}
	once   sync.Once
}

func newMuzzle() *muzzle { return &muzzle{hangup: make(chan struct{})} }

func (m *muzzle) set(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if on && !m.on {
		m.off = make(chan struct{})
	}
	if !on && m.on {
		close(m.off)
	}
	m.on = on
}

func (m *muzzle) listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	return muzzledListener{l, m}, err
}

type muzzledListener struct {
	net.Listener
	m *muzzle
}

func (l muzzledListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &muzzledConn{Conn: c, m: l.m}, nil
}

type muzzledConn struct {
	net.Conn
	m    *muzzle
	said int
}

func (c *muzzledConn) Write(b []byte) (int, error) {
	c.m.mu.Lock()
	on, off := c.m.on && c.said >= c.m.allow, c.m.off
	c.said++
	c.m.mu.Unlock()
	if on {
		<-off
	}
	return c.Conn.Write(b)
}

func (c *muzzledConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.m.once.Do(func() { close(c.m.hangup) })
	}
	return n, err
}

// A broker that goes silent on open connections is noticed, said once, and
// comes back without a gap.
func TestBrokerThatStopsAnswering(t *testing.T) {
	t.Parallel()
	m := newMuzzle()
	c := cluster(t, kfake.SeedTopics(2, topic), kfake.ListenFn(m.listen))
	p := producer(t, options(c.ListenAddrs()))
	e := newEar()
	var logged buffer
	tail := start(t, options(c.ListenAddrs()), e, logger(&logged))
	t.Cleanup(func() { m.set(false) })
	e.untilAttached(t)
	put(t, p, 0, "one")
	e.untilRecord(t, "one")
	m.set(true)
	began := time.Now()
	logged.until(t, "does not serve", 1)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("noticed after %v", took)
	}
	fresh := tail.Positions()[0].Fresh
	if fresh.IsZero() || fresh.After(began) {
		t.Errorf("fresh as of %v, silent since %v", fresh, began)
	}
	<-m.hangup // connections that nobody answers are given up
	m.set(false)
	put(t, p, 0, "two")
	all := e.untilRecord(t, "two")
	if count(all, "lost") != 1 || strings.Count(logged.String(), "does not serve") != 1 {
		t.Errorf("heard\n%s\nlogged\n%s", lines(all), logged.String())
	}
	inOrder(t, all)
}

// The library signs in without a deadline of its own.
func TestBrokerThatIsSilentWhileSigningIn(t *testing.T) {
	t.Parallel()
	m := newMuzzle()
	m.allow = 1 // the API versions
	c := cluster(t, kfake.SeedTopics(1, topic), kfake.ListenFn(m.listen), kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", "p"))
	m.set(true)
	t.Cleanup(func() { m.set(false) })
	opts := options(c.ListenAddrs())
	opts.SASL = SASL{Mechanism: "PLAIN", User: "u", Password: "p"}
	e := newEar()
	start(t, opts, e, quiet())
	late := time.NewTimer(deadline)
	defer late.Stop()
	select {
	case <-m.hangup:
	case <-late.C:
		t.Fatal("the connection was never given up")
	}
	m.set(false)
	e.untilAttached(t)
}

// Among several brokers to begin with, one that never answers does not keep
// the others from being found.
func TestSilentBootstrapBroker(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, topic))
	e := newEar()
	addr, _ := silent(t)
	start(t, options(append(c.ListenAddrs(), addr)), e, quiet())
	e.untilAttached(t)
}
