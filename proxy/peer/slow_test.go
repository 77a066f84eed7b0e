package peer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// A client that always sends, so that the server never finds its buffer empty,
// is not taken for a silent one.
func TestBusyClientIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		_, stop := bubbleServer(t, &node{}, options(t, "b"), l)
		o, err := options(t, "a").withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		nc, err := l.dial(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		link, err := greet(&o, nc)
		if err != nil {
			t.Fatal(err)
		}
		var hearing sync.WaitGroup
		hearing.Go(func() { io.Copy(io.Discard, link.in) })
		ping := appendFrame(nil, framePing, nil)
		half := len(ping) / 2
		nc.Write(ping[:half])
		for began := time.Now(); time.Since(began) < 3*longestSilence; time.Sleep(time.Second) {
			if _, err := nc.Write(append(bytes.Clone(ping[half:]), ping[:half]...)); err != nil {
				t.Fatalf("after %v: %v", time.Since(began), err)
			}
		}
		nc.Close()
		hearing.Wait()
		stop()
	})
}

// An answer that takes longer than a silent peer is given arrives all the same.
func TestLargeAnswerComesSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, err := options(t, "b").withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		const size, piece = 2 << 20, 64 << 10
		var serving sync.WaitGroup
		dial := func(context.Context, string) (net.Conn, error) {
			client, server := net.Pipe()
			serving.Go(func() { answerSlowly(t, &o, server, size, piece) })
			return client, nil
		}
		own := options(t, "a")
		own.Connections, own.KeepAlive = 1, time.Second
		pool, stop := bubblePool(t, own, dial)
		results := make([]proxy.Result, 1)
		began := time.Now()
		if err := pool.To("b", "b:1").Load(t.Context(), reads(t, own.Catalog, "users:1"), results); err != nil || results[0].Err != nil {
			t.Fatalf("%v, %v after %v", err, results[0].Err, time.Since(began))
		}
		if took := time.Since(began); results[0].Row.Size() < size || took < 20*time.Second {
			t.Errorf("%d bytes after %v", results[0].Row.Size(), took)
		}
		stop()
		serving.Wait()
	})
}

// answerSlowly answers one request with a large row, a piece each second.
func answerSlowly(t *testing.T, o *Options, nc net.Conn, size, piece int) {
	defer nc.Close()
	l, err := receive(o, nc)
	if err != nil {
		t.Error(err)
		return
	}
	_, id, _, err := next(l)
	if err != nil {
		t.Error(err)
		return
	}
	go io.Copy(io.Discard, l.in) // pings
	s := newSchemas(t)
	body := appendResults(nil, []proxy.Result{{Row: rowOf(oneColumn, strings.Repeat("x", size))}}, maxReply, s.id)
	said := append(appendFrame(nil, frameSchema, appendColumns(nil, oneColumn)), replyFrame(frameLoaded, id, body)...)
	for len(said) > 0 {
		n := min(piece, len(said))
		if _, err := nc.Write(said[:n]); err != nil {
			t.Errorf("with %d bytes to go: %v", len(said), err)
			return
		}
		said = said[n:]
		time.Sleep(time.Second)
	}
}

// Whoever takes what is written, however slowly, is not given up.
func TestSlowTakerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		o := newOutbox()
		const size = 8 << 20
		o.put(make([]byte, size))
		o.end()
		written := make(chan error, 1)
		go func() { written <- o.write(here, nil, nil, nil); here.Close() }()
		began := time.Now()
		piece, got := make([]byte, 64<<10), 0
		for {
			n, err := there.Read(piece)
			if got += n; errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(200 * time.Millisecond)
		}
		if err := <-written; err != nil || got != size || time.Since(began) < 2*writeTimeout {
			t.Errorf("%v, %d bytes after %v", err, got, time.Since(began))
		}
	})
}
