package server

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// held is a Source whose reads of one key wait until they are let go, or their
// client is given up on.
type held struct {
	table
	asked  chan struct{} // one for each read that waits
	letGo  chan struct{}
	gaveUp chan error
}

func newHeld() *held {
	return &held{asked: make(chan struct{}, 8), letGo: make(chan struct{}), gaveUp: make(chan error, 8)}
}

func (s *held) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	if string(reqs[0].Key.Text) != "key:held" {
		s.table.Load(ctx, reqs, results)
		return
	}
	s.asked <- struct{}{}
	select {
	case <-s.letGo:
	case <-ctx.Done():
		s.gaveUp <- context.Cause(ctx)
	}
}

func needsWatch(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells of a peer that has closed while nobody reads")
	}
}

// B55: a client that leaves while its command waits for the source ends the
// wait, though more of its pipeline is not read yet; the commands behind it
// are not carried out, and others wait on.
func TestClientLeavesWhileItsCommandWaits(t *testing.T) {
	needsWatch(t)
	src := newHeld()
	s := start(t, src, Options{})
	stays := dial(t, s.addr)
	send(t, stays, get("key:held")+get("key:after"))
	<-src.asked
	for i, leave := range []func(*net.TCPConn){
		func(c *net.TCPConn) { c.Close() },
		func(c *net.TCPConn) { c.SetLinger(0); c.Close() }, // a reset
	} {
		c := dial(t, s.addr).(*net.TCPConn)
		send(t, c, get("key:held")+set("key:after", []byte{byte(i)}))
		<-src.asked
		send(t, c, "PING\r\n") // stays unread
		leave(c)
		select {
		case err := <-src.gaveUp:
			if err != errGone {
				t.Errorf("given up because of %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the wait was not ended")
		}
	}
	close(src.letGo)
	expect(t, stays, "$-1\r\n")
}

// A connection that another one ends while its command waits waits no longer.
func TestKilledWhileItsCommandWaits(t *testing.T) {
	src := newHeld()
	s := start(t, src, Options{})
	c, other := dial(t, s.addr), dial(t, s.addr)
	send(t, c, get("key:held"))
	<-src.asked
	send(t, other, "CLIENT KILL ADDR "+c.LocalAddr().String()+"\r\n")
	expect(t, other, ":1\r\n")
	select {
	case <-src.gaveUp:
	case <-time.After(20 * time.Second):
		t.Fatal("the wait was not ended")
	}
	expectEnd(t, c, "")
}

// A client that has only closed its sending side gets its answers.
func TestHalfClosedClientIsAnswered(t *testing.T) {
	src := newHeld()
	s := start(t, src, Options{})
	c := dial(t, s.addr).(*net.TCPConn)
	send(t, c, get("key:held")+"PING\r\n")
	<-src.asked
	c.CloseWrite()
	close(src.letGo)
	expectEnd(t, c, "$-1\r\n+PONG\r\n")
}
