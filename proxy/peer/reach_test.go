package peer

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// machine is one on which a server may run, be killed and run again.
type machine struct {
	mu    sync.Mutex
	up    *pipes
	conns []net.Conn
}

func (m *machine) dial(ctx context.Context, address string) (net.Conn, error) {
	m.mu.Lock()
	up := m.up
	m.mu.Unlock()
	if up == nil {
		return nil, errNobody
	}
	c, err := up.dial(ctx, address)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.conns = append(m.conns, c)
	}
	return c, err
}

func (m *machine) run(t *testing.T, h Handler, o Options) (stop func()) {
	l := newPipes()
	m.mu.Lock()
	m.up = l
	m.mu.Unlock()
	_, end := bubbleServer(t, h, o, l)
	return func() {
		m.mu.Lock()
		m.up = nil
		m.mu.Unlock()
		end()
	}
}

// kill ends all connections without a word, and takes no more.
func (m *machine) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.up = nil
	for _, c := range m.conns {
		c.Close()
	}
}

// A peer is lost when its connections are, and not because it is asked nothing,
// is not tried yet, or has said goodbye.
func TestPeerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{}
		own := options(t, "a")
		own.KeepAlive = time.Second
		pool, err := NewPool(own, ringOf(3, 33))
		if err != nil {
			t.Fatal(err)
		}
		pool.dial = m.dial
		to := pool.To("b", "b:1")
		if to.Lost() {
			t.Error("it is lost before anybody has tried it")
		}
		stopServer := m.run(t, &node{}, options(t, "b"))
		stop := runPool(t, pool)
		time.Sleep(time.Hour)
		if to.Lost() {
			t.Error("it is lost as nothing is asked of it")
		}
		before := pool.Changes()
		m.kill()
		synctest.Wait() // no time passes
		if !to.Lost() || pool.Changes() == before {
			t.Errorf("killed, it is lost: %v", to.Lost())
		}
		stopServer()
		time.Sleep(time.Minute)
		if !to.Lost() {
			t.Error("it is there, and nobody listens")
		}
		before = pool.Changes()
		stopServer = m.run(t, &node{}, options(t, "b"))
		time.Sleep(lastRedial)
		if to.Lost() || pool.Changes() == before {
			t.Errorf("back, it is lost: %v", to.Lost())
		}
		m.mu.Lock()
		m.up = newPipes() // whoever dials waits
		m.mu.Unlock()
		stopServer()
		synctest.Wait()
		if to.Lost() || len(*to.conns.Load()) > 0 {
			t.Error("it has said goodbye, and is lost")
		}
		stop()
	})
}

// A peer is doubted while its breaker is open, and while its table of owners is
// another: idle connections tell, too. What differs for long is a problem.
func TestPeerIsDoubted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &changing{}
		h.sum.Store(33)
		m := &machine{}
		stopServer := m.run(t, h, options(t, "b"))
		own := options(t, "a")
		own.KeepAlive = time.Second
		pool, stop := bubblePool(t, own, m.dial)
		to := pool.To("b", "b:1")
		doubted := func(want bool, when string) {
			t.Helper()
			if to.Doubted() != want {
				t.Errorf("%s, it is doubted: %v", when, !want)
			}
		}
		time.Sleep(time.Minute)
		doubted(false, "at rest")
		h.sum.Store(34)
		time.Sleep(2 * time.Second)
		doubted(true, "with another table")
		if n := count(t, pool, "freshet_peer_reply_disagreements_total", ""); n == 0 || len(pool.Problems()) > 0 {
			t.Errorf("%v disagreements, problems: %v", n, pool.Problems())
		}
		time.Sleep(longApart)
		if p := pool.Problems(); len(p) != 1 || !strings.Contains(p[0], "peer at b:1: has another table of owners") {
			t.Errorf("problems: %v", p)
		}
		h.sum.Store(33)
		if _, err := to.Ask(t.Context()); err != nil {
			t.Error(err)
		}
		doubted(false, "once it has said the same")
		if p := pool.Problems(); len(p) > 0 {
			t.Errorf("problems: %v", p)
		}
		h.block.Store(true)
		for range tolerated {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := to.Load(ctx, reads(t, own.Catalog, "users:1"), make([]proxy.Result, 1)); err == nil {
				t.Error("it has answered")
			}
			cancel()
		}
		doubted(true, "as it answers nothing")
		if to.Lost() {
			t.Error("it is slow, and lost")
		}
		stop()
		stopServer()
	})
}

// changing is a node whose table changes, and that may not answer.
type changing struct {
	node
	sum   atomic.Uint64
	block atomic.Bool
}

func (c *changing) Ring() (uint64, uint64) { return 3, c.sum.Load() }

func (c *changing) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	if c.block.Load() {
		<-ctx.Done()
		time.Sleep(time.Second) // the caller's time is over at the same moment, and is to be over first
		return
	}
	c.node.Load(ctx, reqs, results)
}
