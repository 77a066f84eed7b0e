package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/command"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// pipes is a listener whose connections have no buffer: a peer that does not
// read blocks its writer at once. They obey the clock of a bubble.
type pipes struct {
	conns chan net.Conn
	fail  chan error // what Accept returns next
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), fail: make(chan error), done: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case err := <-p.fail:
		return nil, err
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// bubble runs a server over pipes in a bubble. stop ends its context and
// returns how long Run took from there.
func bubble(t *testing.T, src proxy.Source, opts Options, f func(t *testing.T, s *running, p *pipes, stop func() time.Duration)) {
	bubbleFor(t, nil, src, opts, f)
}

func bubbleFor(t *testing.T, users command.Users, src proxy.Source, opts Options, f func(t *testing.T, s *running, p *pipes, stop func() time.Duration)) {
	synctest.Test(t, func(t *testing.T) {
		s := &running{reg: prometheus.NewRegistry()}
		s.Server = New(command.New(catalog(t), src, nil, command.Options{Users: users}), slog.New(slog.NewTextHandler(io.Discard, nil)), s.reg, opts)
		p := newPipes()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { s.Run(ctx, Listener{Listener: p}); close(done) }()
		stop := func() time.Duration {
			began := time.Now()
			cancel()
			<-done
			return time.Since(began)
		}
		f(t, s, p, stop)
		stop()
	})
}

func closedBy(t *testing.T, s *running, e end) float64 {
	return s.metric(t, "freshet_connections_closed_total", e.String())
}

// P9: an accept that fails is tried again after pauses that grow to a second,
// and the next connection is served.
func TestAcceptBacksOff(t *testing.T) {
	bubble(t, &table{}, Options{}, func(t *testing.T, s *running, p *pipes, _ func() time.Duration) {
		began := time.Now()
		for range 12 {
			p.fail <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
		}
		if took := time.Since(began); took < 3*time.Second || took > 6*time.Second {
			t.Errorf("12 failures took %v", took)
		}
		c := p.dial()
		defer c.Close()
		go io.WriteString(c, "PING\r\n")
		expect(t, c, "+PONG\r\n")
		if n := s.metric(t, "freshet_accept_errors_total", ""); n != 12 {
			t.Errorf("%v failures were counted", n)
		}
	})
}

func TestAcceptPauseEndsWithTheServer(t *testing.T) {
	bubble(t, &table{}, Options{}, func(t *testing.T, s *running, p *pipes, stop func() time.Duration) {
		for range 12 {
			p.fail <- syscall.EMFILE
		}
		if took := stop(); took != 0 {
			t.Errorf("Run ended after %v", took)
		}
	})
}

func TestIdleConnectionIsClosed(t *testing.T) {
	bubble(t, &table{}, Options{IdleTimeout: time.Minute}, func(t *testing.T, s *running, p *pipes, _ func() time.Duration) {
		c := p.dial()
		defer c.Close()
		time.Sleep(59 * time.Second)
		go io.WriteString(c, "PING\r\n*1\r\n$4\r\nPI")
		expect(t, c, "+PONG\r\n")
		began := time.Now()
		expectEnd(t, c, "")
		if took := time.Since(began); took != time.Minute {
			t.Errorf("closed after %v", took)
		}
		synctest.Wait()
		if closedBy(t, s, byIdle) != 1 {
			t.Error("not counted as idle")
		}
	})
}

// P37: peers that ask for much and read nothing cost no more than their bound,
// and are closed.
func TestPeerThatNeverReads(t *testing.T) {
	const clients, value, bound = 10, 1 << 20, 4 << 20
	src := &table{rows: map[string]row.Row{"key:a": encode(make([]byte, value))}}
	opts := Options{OutputBytes: bound, WriteTimeout: 10 * time.Second}
	bubble(t, src, opts, func(t *testing.T, s *running, p *pipes, _ func() time.Duration) {
		before := heapInUse()
		conns := make([]net.Conn, clients)
		for i := range conns {
			conns[i] = p.dial()
			defer conns[i].Close()
			go io.WriteString(conns[i], strings.Repeat(get("key:a"), 500))
		}
		time.Sleep(time.Second) // of the bubble: until all are stuck
		synctest.Wait()
		perClient := (heapInUse() - before) / clients
		// The bound, the room of a buffer that grew to it, and the replies of
		// one step, a little more than a value.
		if most := int64(2*bound + 4*value); perClient > most {
			t.Errorf("%d MiB are held for each client", perClient>>20)
		}
		t.Logf("%d MiB are held for each client", perClient>>20)
		if closedBy(t, s, bySlow) != 0 {
			t.Error("closed before the write timeout")
		}
		other := p.dial()
		go io.WriteString(other, "PING\r\n")
		expect(t, other, "+PONG\r\n")
		other.Close()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := closedBy(t, s, bySlow); n != clients {
			t.Errorf("%v of %d slow clients were closed", n, clients)
		}
	})
}

// P27: a slow read does not let later replies pass.
func TestSlowReadKeepsOrder(t *testing.T) {
	src := &table{delay: time.Second, rows: map[string]row.Row{"key:a": encode([]byte("1"))}}
	bubble(t, src, Options{}, func(t *testing.T, s *running, p *pipes, _ func() time.Duration) {
		c := p.dial()
		defer c.Close()
		go io.WriteString(c, get("key:a")+"PING\r\n"+get("key:b"))
		expect(t, c, "$1\r\n1\r\n+PONG\r\n$-1\r\n")
	})
}

// When the server stops, what has been asked is answered, and idle connections
// close at once.
func TestDrain(t *testing.T) {
	src := &table{delay: time.Second, rows: map[string]row.Row{"key:a": encode([]byte("1"))}}
	bubble(t, src, Options{}, func(t *testing.T, s *running, p *pipes, stop func() time.Duration) {
		idle, busy := p.dial(), p.dial()
		go io.WriteString(busy, get("key:a"))
		answered := make(chan string)
		go func() {
			b, _ := io.ReadAll(busy)
			answered <- string(b)
		}()
		synctest.Wait()
		took := make(chan time.Duration)
		go func() { took <- stop() }()
		expectEnd(t, idle, "")
		if got := <-answered; got != "$1\r\n1\r\n" {
			t.Errorf("the busy connection got %q", got)
		}
		if d := <-took; d != time.Second {
			t.Errorf("Run ended after %v", d)
		}
		if closedBy(t, s, byDrain) != 2 {
			t.Error("not counted as drained")
		}
	})
}

func TestDrainIsCutOff(t *testing.T) {
	bubble(t, &table{delay: time.Hour}, Options{DrainTimeout: 3 * time.Second}, func(t *testing.T, s *running, p *pipes, stop func() time.Duration) {
		waiting, unread := p.dial(), p.dial()
		go io.WriteString(waiting, get("key:a"))
		go io.WriteString(unread, "PING\r\n")
		synctest.Wait()
		if d := stop(); d != 3*time.Second {
			t.Errorf("Run ended after %v", d)
		}
		waiting.Close()
		unread.Close()
	})
}

func TestTooManyConnections(t *testing.T) {
	bubble(t, &table{}, Options{MaxConnections: 2}, func(t *testing.T, s *running, p *pipes, _ func() time.Duration) {
		first, second := p.dial(), p.dial()
		defer second.Close()
		third := p.dial()
		expectEnd(t, third, "-ERR max number of clients reached\r\n")
		first.Close()
		synctest.Wait()
		fourth := p.dial()
		defer fourth.Close()
		go io.WriteString(fourth, "PING\r\n")
		expect(t, fourth, "+PONG\r\n")
		if s.metric(t, "freshet_connections_refused_total", "") != 1 || s.metric(t, "freshet_connections", "") != 2 {
			t.Error("not counted")
		}
	})
}

// A defect costs its connection, and nothing else.
func TestPanicClosesItsConnection(t *testing.T) {
	bubble(t, &table{boom: "key:boom"}, Options{}, func(t *testing.T, s *running, p *pipes, _ func() time.Duration) {
		bad, good := p.dial(), p.dial()
		defer good.Close()
		go io.WriteString(bad, "PING\r\n"+get("key:boom"))
		got, _ := io.ReadAll(bad)
		if len(got) > 0 {
			t.Errorf("a batch that panics answers %q", got)
		}
		go io.WriteString(good, "PING\r\n")
		expect(t, good, "+PONG\r\n")
		synctest.Wait()
		if closedBy(t, s, byPanic) != 1 {
			t.Error("not counted")
		}
	})
}

// A peer that is slow but reads gets everything in order, though its replies
// are written by the pump.
func TestSlowPeerGetsEverything(t *testing.T) {
	bubble(t, &table{}, Options{OutputBytes: 1 << 10, WriteTimeout: time.Minute}, func(t *testing.T, s *running, p *pipes, _ func() time.Duration) {
		c := p.dial()
		defer c.Close()
		var in, want strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&in, "ECHO %04d\r\n", i)
			fmt.Fprintf(&want, "$4\r\n%04d\r\n", i)
		}
		go io.WriteString(c, in.String()+"QUIT\r\n")
		want.WriteString("+OK\r\n")
		var got strings.Builder
		part := make([]byte, 777)
		for {
			time.Sleep(50 * time.Millisecond)
			n, err := c.Read(part)
			got.Write(part[:n])
			if err != nil {
				break
			}
		}
		if got.String() != want.String() {
			t.Errorf("%d bytes came, and not the %d there were", got.Len(), want.Len())
		}
	})
}
