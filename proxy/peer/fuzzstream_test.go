package peer

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// wire is a connection on which everything has come already, and to which
// anything can be written.
type wire struct{ *bytes.Reader }

func (wire) Write(b []byte) (int, error)      { return len(b), nil }
func (wire) Close() error                     { return nil }
func (wire) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (wire) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (wire) SetDeadline(time.Time) error      { return nil }
func (wire) SetReadDeadline(time.Time) error  { return nil }
func (wire) SetWriteDeadline(time.Time) error { return nil }

func wired(stream []byte) *link {
	w := wire{bytes.NewReader(stream)}
	return &link{net: w, in: bufio.NewReader(w), version: highestVersion, name: "x", shared: []bool{true, false}}
}

// Whatever a peer sends behind its handshake, the server end takes it to its
// end and asks its node for nothing that is not a key of a shared use case.
func FuzzServerStream(f *testing.F) {
	o := options(f, "b")
	h := &node{}
	h.load = func(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
		for i := range reqs {
			if reqs[i].Key.UseCase.Name != "users" {
				panic("a key that is not shared")
			}
		}
		h.answer(reqs, results)
	}
	head := request{id: 1, hops: 1}
	load := func(k kind, body []byte) []byte { return appendFrame(nil, k, append(head.append(nil, 2), body...)) }
	f.Add(load(frameLoad, appendReads(nil, reads(f, o.Catalog, "users:1"))))
	f.Add(load(frameLoad, appendReads(nil, reads(f, o.Catalog, "orders:1"))))
	f.Add(append(load(frameForget, appendKeys(nil, [][]byte{[]byte("users:1")})), load(frameAsk, nil)...))
	f.Add(append(load(frameHottest, []byte{3, 1, 'b'}), appendFrame(appendFrame(nil, framePing, nil), frameBye, nil)...))
	s, err := NewServer(h, o)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		newInbound(s, wired(stream)).run(context.Background())
	})
}

// Whatever a peer answers, the client end takes it to its end, and whoever
// waits is told something.
func FuzzClientStream(f *testing.F) {
	o := options(f, "a")
	pool, err := NewPool(o, ringOf(1, 2))
	if err != nil {
		f.Fatal(err)
	}
	s := newSchemas(f)
	one := appendResults(nil, []proxy.Result{{Row: rowOf(oneColumn, "x"), AsOf: 1}}, maxReply, s.id)
	told := appendFrame(nil, frameSchema, appendColumns(nil, oneColumn))
	f.Add(append(bytes.Clone(told), replyFrame(frameLoaded, 1, one)...))
	f.Add(replyFrame(frameLoaded, 1, one))
	f.Add(append(appendFrame(nil, frameBye, nil), replyFrame(frameRefused, 1, []byte{byte(classShed)})...))
	f.Add(append(appendFrame(nil, framePong, nil), replyFrame(frameRecord, 2, nil)...))
	f.Fuzz(func(t *testing.T, stream []byte) {
		c := newConn(newPeer(pool, "peer:1"), wired(stream))
		k := &call{out: make([]byte, 64), done: make(chan answer, 1)}
		if _, ok := c.send(k); !ok {
			t.Fatal("a new connection takes no request")
		}
		c.run(context.Background())
		a := <-k.done
		if a.kind == frameLoaded {
			var results [1]proxy.Result
			decodeResults(&cursor{rest: a.body}, results[:], a.schemas)
			results[0].Row.AppendJSON(nil)
		}
	})
}
