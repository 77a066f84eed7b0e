package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// pipes is a listener whose connections obey the clock of a bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

var errNobody = errors.New("nobody listens")

func (p *pipes) dial(ctx context.Context, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, errNobody
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bubbleServer runs a server on pipes; stop returns how long it took to end.
func bubbleServer(t *testing.T, h Handler, o Options, l *pipes) (s *Server, stop func() time.Duration) {
	s, err := NewServer(h, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { s.Run(ctx, l); close(done) }()
	return s, func() time.Duration {
		began := time.Now()
		cancel()
		<-done
		return time.Since(began)
	}
}

func bubblePool(t *testing.T, o Options, dial func(context.Context, string) (net.Conn, error)) (p *Pool, stop func()) {
	p, err := NewPool(o, ringOf(3, 33))
	if err != nil {
		t.Fatal(err)
	}
	p.dial = dial
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	return p, func() { cancel(); <-done }
}

// An idle connection lives as long as both ends do, and is used again.
func TestIdleConnectionLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		_, stopServer := bubbleServer(t, &node{}, options(t, "b"), l)
		own := options(t, "a")
		own.Connections, own.KeepAlive = 1, time.Second
		pool, stop := bubblePool(t, own, l.dial)
		to := pool.To("b", "b:1")
		if _, err := to.Ask(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := (*to.conns.Load())[0]
		time.Sleep(time.Hour)
		if _, err := to.Ask(t.Context()); err != nil || (*to.conns.Load())[0] != first {
			t.Errorf("after an hour: %v", err)
		}
		stop()
		stopServer()
	})
}

// A peer that goes silent, and is still connected, is given up after three
// pings; who waits for it is told, and has not waited longer.
func TestSilentPeerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, err := options(t, "b").withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		var deaf sync.WaitGroup
		dials := 0
		dial := func(ctx context.Context, _ string) (net.Conn, error) {
			if dials++; dials > 1 {
				return nil, errNobody
			}
			client, server := net.Pipe()
			deaf.Go(func() {
				l, err := receive(&o, server)
				for err == nil {
					_, err = l.in.Discard(1) // hears everything and says nothing
				}
			})
			return client, nil
		}
		own := options(t, "a")
		own.Connections, own.KeepAlive = 1, time.Second
		pool, stop := bubblePool(t, own, dial)
		to := pool.To("b", "b:1")
		began := time.Now()
		if _, err := to.Ask(t.Context()); !errors.Is(err, ErrAway) {
			t.Error(err)
		}
		if took := time.Since(began); took < 3*time.Second || took > 5*time.Second {
			t.Errorf("it was given up after %v", took)
		}
		stop()
		deaf.Wait()
	})
}

// Nobody listens: the pauses between attempts grow, and once somebody does he
// is found soon.
func TestRedialBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int64
		var l atomic.Pointer[pipes]
		dial := func(ctx context.Context, address string) (net.Conn, error) {
			dials.Add(1)
			if to := l.Load(); to != nil {
				return to.dial(ctx, address)
			}
			return nil, errNobody
		}
		own := options(t, "a")
		own.Connections = 1
		pool, stop := bubblePool(t, own, dial)
		to := pool.To("b", "b:1")
		time.Sleep(time.Minute)
		if n := dials.Load(); n < 60/2 || n > 70 {
			t.Errorf("%d attempts in a minute", n)
		}
		l.Store(newPipes())
		_, stopServer := bubbleServer(t, &node{}, options(t, "b"), l.Load())
		time.Sleep(lastRedial)
		if _, err := to.Ask(t.Context()); err != nil {
			t.Errorf("once somebody listens: %v", err)
		}
		stop()
		stopServer()
	})
}

// A call waits as long as its context lets it, whatever the peer does.
func TestCallEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &node{load: func(ctx context.Context, _ []proxy.Request, _ []proxy.Result) { <-ctx.Done() }}
		l := newPipes()
		_, stopServer := bubbleServer(t, h, options(t, "b"), l)
		own := options(t, "a")
		pool, stop := bubblePool(t, own, l.dial)
		ctx, cancel := context.WithTimeout(t.Context(), 70*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := pool.To("b", "b:1").Load(ctx, reads(t, own.Catalog, "users:1"), make([]proxy.Result, 1))
		// At that very moment the peer's own time is over too, and it may say so first.
		if took := time.Since(began); err != nil && !errors.Is(err, context.DeadlineExceeded) || took > 71*time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
		stop()
		stopServer()
	})
}

// A caller that gives a peer up, and says that it was late, counts as one whose
// time was over; one that merely leaves counts for nothing.
func TestPeerIsSaidToBeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &node{load: func(ctx context.Context, _ []proxy.Request, _ []proxy.Result) { <-ctx.Done() }}
		l := newPipes()
		server := options(t, "b")
		server.Drain = time.Second
		_, stopServer := bubbleServer(t, h, server, l)
		own := options(t, "a")
		pool, stop := bubblePool(t, own, l.dial)
		to := pool.To("b", "b:1")
		giveUp := func(why error) {
			ctx, end := context.WithCancelCause(t.Context())
			timer := time.AfterFunc(time.Second, func() { end(why) })
			defer timer.Stop()
			if err := to.Load(ctx, reads(t, own.Catalog, "users:1"), make([]proxy.Result, 1)); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		for range tolerated {
			giveUp(nil)
		}
		if to.breaker.isOpen.Load() {
			t.Error("who leaves is taken for a sign of the peer's health")
		}
		for range tolerated {
			giveUp(context.DeadlineExceeded)
		}
		if !to.breaker.isOpen.Load() {
			t.Error("a peer that is always late is asked again")
		}
		stop()
		stopServer()
	})
}

// A server that ends waits for what it works on, and not for ever.
func TestDrainIsBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		work time.Duration
		took time.Duration
		ok   bool
	}{"work that ends": {3 * time.Second, 3 * time.Second, true}, "work that does not": {time.Hour, 5 * time.Second, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &node{}
				h.load = func(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
					timer := time.NewTimer(tc.work)
					defer timer.Stop()
					select {
					case <-timer.C:
					case <-ctx.Done():
					}
					h.answer(reqs, results)
				}
				l := newPipes()
				server := options(t, "b")
				server.Drain = 5 * time.Second
				_, stopServer := bubbleServer(t, h, server, l)
				own := options(t, "a")
				pool, stop := bubblePool(t, own, l.dial)
				to := pool.To("b", "b:1")
				done := make(chan error, 1)
				go func() {
					done <- to.Load(t.Context(), reads(t, own.Catalog, "users:1"), make([]proxy.Result, 1))
				}()
				synctest.Wait()
				if took := stopServer(); took != tc.took {
					t.Errorf("it took %v", took)
				}
				if err := <-done; (err == nil) != tc.ok || err != nil && !errors.Is(err, ErrAway) {
					t.Error(err)
				}
				if to.breaker.failures.Load() != 0 {
					t.Error("a goodbye is counted as a failure")
				}
				stop()
			})
		})
	}
}

// Who says nothing is shown out when the time for the handshake is over.
func TestSilentStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		server := options(t, "b")
		server.Handshake = 5 * time.Second
		s, stopServer := bubbleServer(t, &node{}, server, l)
		nc, err := l.dial(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := nc.Read(make([]byte, 1)); err == nil || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if n := count(t, s, "freshet_peer_refused_total", "stranger"); n != 1 {
			t.Errorf("%v strangers were refused", n)
		}
		stopServer()
	})
}

// Strangers are bounded in number, and leave room for peers when they go.
func TestStrangersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		server := options(t, "b")
		server.Handshake = 5 * time.Second
		s, stopServer := bubbleServer(t, &node{}, server, l)
		for range maxStrangers {
			if _, err := l.dial(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
		}
		nc, err := l.dial(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Read(make([]byte, 1)); err == nil {
			t.Error("one too many is listened to")
		}
		if n := count(t, s, "freshet_peer_refused_total", "busy"); n != 1 {
			t.Errorf("%v were refused", n)
		}
		time.Sleep(6 * time.Second)
		pool, stop := bubblePool(t, options(t, "a"), l.dial)
		if _, err := pool.To("b", "b:1").Ask(t.Context()); err != nil {
			t.Error(err)
		}
		stop()
		stopServer()
	})
}

// A table's columns change while a connection is in use; one that has been
// told too much is renewed, and nothing is lost by that.
func TestSchemasChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := 0
		h := &node{}
		h.load = func(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
			read++
			s := &row.Schema{Columns: []string{"id", fmt.Sprintf("column %d", read)}}
			for i := range reqs {
				results[i].Row = rowOf(s, string(reqs[i].Key.Text))
			}
		}
		l := newPipes()
		_, stopServer := bubbleServer(t, h, options(t, "b"), l)
		own := options(t, "a")
		own.Connections = 1
		pool, stop := bubblePool(t, own, l.dial)
		to := pool.To("b", "b:1")
		if _, err := to.Ask(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := (*to.conns.Load())[0]
		reqs, results := reads(t, own.Catalog, "users:1", "users:2"), make([]proxy.Result, 2)
		away := 0
		for range maxSchemas + 100 {
			err := to.Load(t.Context(), reqs, results)
			if errors.Is(err, ErrAway) { // between two connections
				away++
				time.Sleep(firstRedial)
				continue
			}
			want := fmt.Sprintf("column %d", read)
			for i := range results {
				if got := results[i].Row.Schema(); err != nil || results[i].Err != nil || got.Columns[1] != want {
					t.Fatalf("%v, %v, %v where %q was read", err, results[i].Err, got, want)
				}
			}
		}
		if (*to.conns.Load())[0] == first || away > 1 {
			t.Errorf("renewed: %v; away %d times", (*to.conns.Load())[0] != first, away)
		}
		if n := count(t, pool, "freshet_peer_requests_total", "load lost"); n != 0 {
			t.Errorf("%v loads were lost", n)
		}
		stop()
		stopServer()
	})
}
