package peer

import (
	"bufio"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
)

// link is a connection on which both ends know who the other is.
type link struct {
	net     net.Conn
	in      *bufio.Reader
	version uint64
	name    string // of the other end
	shared  []bool // by use case ID: it means the same at both ends
}

const (
	strangerBuffer = 4 << 10
	readBuffer     = 64 << 10
)

// talk is a handshake under way. Whoever calls it has set a deadline.
type talk struct {
	opts *Options
	net  net.Conn
	in   *bufio.Reader
	mine hello
	its  hello
	said [3][]byte // what proofs are bound to: the client's hello, the server's, and the session underneath
}

func newTalk(o *Options, nc net.Conn) *talk {
	t := &talk{opts: o, net: nc, in: bufio.NewReaderSize(nc, strangerBuffer)}
	t.mine = hello{
		lowest: o.lowest, highest: o.highest, name: o.Name, instance: o.Instance,
		tier: o.Tier, keyed: len(o.Key) > 0,
	}
	rand.Read(t.mine.nonce[:]) // never fails
	if t.mine.tells = o.Database != nil; t.mine.tells {
		t.mine.database = o.Database()
	}
	return t
}

// greet is the client's half of the handshake: magic and hello both ways, a
// proof each way where there is a key, and a table each way.
func greet(o *Options, nc net.Conn) (*link, error) {
	t := newTalk(o, nc)
	mine := t.mine.append(nil)
	if err := t.introduce(mine); err != nil {
		return nil, err
	}
	its, err := t.meet()
	if err != nil {
		return nil, err
	}
	version, err := t.mine.agree(&t.its)
	if err != nil {
		return nil, err
	}
	if err := t.bind(mine, its); err != nil {
		return nil, err
	}
	if t.mine.keyed {
		if err := t.prove(asClient); err != nil {
			return nil, err
		}
		if err := t.check(asServer); err != nil {
			return nil, err
		}
	}
	return t.finish(version)
}

// receive is the server's half. It has a client prove itself before it does.
func receive(o *Options, nc net.Conn) (*link, error) {
	t := newTalk(o, nc)
	its, err := t.meet()
	if err != nil {
		return nil, err
	}
	mine := t.mine.append(nil)
	if err := t.introduce(mine); err != nil {
		return nil, err
	}
	version, err := t.mine.agree(&t.its)
	if err != nil {
		return nil, err
	}
	if err := t.bind(its, mine); err != nil {
		return nil, err
	}
	if t.mine.keyed {
		if err := t.check(asClient); err != nil {
			return nil, err
		}
		if err := t.prove(asServer); err != nil {
			return nil, err
		}
	}
	return t.finish(version)
}

func (t *talk) introduce(mine []byte) error {
	_, err := t.net.Write(appendFrame([]byte(magic), frameHello, mine))
	return err
}

// meet reads the other end's magic and hello.
func (t *talk) meet() ([]byte, error) {
	var first [len(magic)]byte
	if _, err := io.ReadFull(t.in, first[:]); err != nil {
		return nil, err
	}
	if string(first[:]) != magic {
		return nil, errMalformed
	}
	body, err := t.expect(frameHello, maxStranger)
	if err != nil {
		return nil, err
	}
	return body, t.its.decode(body)
}

func (t *talk) bind(client, server []byte) error {
	session, err := binding(t.net)
	t.said = [3][]byte{client, server, session}
	return err
}

func (t *talk) prove(r role) error {
	return t.send(frameProof, proof(t.opts.Key, r, t.said[:]...))
}

func (t *talk) check(r role) error {
	claimed, err := t.expect(frameProof, maxStranger)
	if err != nil {
		return err
	}
	if proven(t.opts.Key, r, claimed, t.said[:]...) {
		return nil
	}
	t.send(frameRefusal, []byte{byte(refusedKey)})
	return refuse(t.its.name, refusedKey, "has another key than this node")
}

// finish compares what both ends are for.
func (t *talk) finish(version uint64) (*link, error) {
	if err := t.mine.admits(&t.its); err != nil {
		return nil, err
	}
	sent := make(chan error, 1) // both write first: neither may wait for the other to read
	go func() {
		sent <- t.send(frameTable, appendTable(nil, t.opts.Catalog, t.opts.Fingerprints))
	}()
	body, err := t.expect(frameTable, maxTable)
	if err != nil {
		t.net.Close()
		<-sent
		return nil, err
	}
	if err := <-sent; err != nil {
		return nil, err
	}
	shared, err := decodeTable(body, t.opts.Catalog, t.opts.Fingerprints)
	if err != nil {
		return nil, err
	}
	return &link{
		net: t.net, in: bufio.NewReaderSize(t.in, readBuffer),
		version: version, name: t.its.name, shared: shared,
	}, nil
}

func (t *talk) send(k kind, body []byte) error {
	_, err := t.net.Write(appendFrame(nil, k, body))
	return err
}

func (t *talk) expect(want kind, most int) ([]byte, error) {
	var head [headBytes]byte
	k, n, err := readHead(t.in, &head, most)
	if err != nil {
		return nil, err
	}
	body, err := readBody(t.in, nil, n)
	switch {
	case err != nil:
		return nil, err
	case k == frameRefusal && len(body) == 1:
		return nil, t.refused(refusal(body[0]))
	case k != want:
		return nil, fmt.Errorf("%w: a frame of kind %d in the handshake", errMalformed, k)
	}
	return body, nil
}

// refused puts into words what the other end has said in one byte.
func (t *talk) refused(why refusal) error {
	switch why {
	case refusedKey:
		return refuse(t.its.name, why, "has another key than this node")
	case refusedBusy:
		return refuse(t.its.name, why, "has as many connections as it takes")
	}
	return refuse(t.its.name, why, "refuses this node for a reason that this build does not know (%d)", why)
}

// apart makes a RefusedError of what else keeps two ends apart for good: bytes
// that are no handshake, and certificates that are not accepted here or there.
func apart(err error) error {
	var certificate *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.Is(err, errMalformed):
		return refuse("", 0, "what is at the other end is no peer, or speaks TLS where this end does not: %v", err)
	case errors.As(err, &header):
		return refuse("", refusedTLS, "the other end does not speak TLS")
	case errors.As(err, &certificate):
		return refuse("", refusedTLS, "its certificate is not accepted here: %v", err)
	case errors.As(err, &op) && op.Op == "remote error": // how crypto/tls says an alert of the other end
		return refuse("", refusedTLS, "the other end ends TLS: %v", op.Err)
	}
	return err
}

// reasonOf says under which reason a handshake that failed is counted.
func reasonOf(err error) string {
	var refused *RefusedError
	if errors.As(err, &refused) && int(refused.why) < len(reasons) {
		return reasons[refused.why]
	}
	return reasons[0]
}
