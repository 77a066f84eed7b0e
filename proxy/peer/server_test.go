package peer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// What a caller has goes along: its name, its priority, and its time.
func TestCallerAndTimeGoAlong(t *testing.T) {
	type seen struct {
		caller *proxy.Caller
		left   time.Duration
	}
	saw := make(chan seen, 1)
	h := &node{}
	h.load = func(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
		deadline, _ := ctx.Deadline()
		saw <- seen{proxy.CallerOf(ctx), time.Until(deadline)}
		h.answer(reqs, results)
	}
	_, address, _ := serving(t, h, options(t, "b"))
	own := options(t, "a")
	pool, _ := pooling(t, own)
	reqs, results := reads(t, own.Catalog, "users:1"), make([]proxy.Result, 1)
	for _, tc := range []struct {
		caller *proxy.Caller
		time   time.Duration
		most   time.Duration
	}{
		{nil, 10 * time.Minute, 10 * time.Minute}, {&proxy.Caller{Name: "web", Low: true}, 20 * time.Minute, 20 * time.Minute}, {&proxy.Caller{Name: "job"}, 0, longestWait},
	} {
		ctx := context.Background()
		if tc.time > 0 {
			var cancel func()
			ctx, cancel = context.WithTimeout(ctx, tc.time)
			defer cancel()
		}
		if tc.caller != nil {
			ctx = tc.caller.With(ctx)
		}
		if err := pool.To("b", address).Load(ctx, reqs, results); err != nil {
			t.Fatal(err)
		}
		got := <-saw
		if (got.caller == nil) != (tc.caller == nil) || got.caller != nil && *got.caller != *tc.caller {
			t.Errorf("caller %+v came as %+v", tc.caller, got.caller)
		}
		if got.left > tc.most || got.left < tc.most/2 {
			t.Errorf("of %v, %v are left", tc.time, got.left)
		}
	}
}

// raw is a client of which a test says each frame.
func raw(t *testing.T, address string) *link {
	t.Helper()
	o, err := options(t, "a").withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(5 * time.Minute))
	l, err := greet(&o, nc)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *link) say(t *testing.T, k kind, head request, body []byte) {
	t.Helper()
	frame := append(head.append(beginFrame(nil, k), l.version), body...)
	if _, err := l.net.Write(endFrame(frame, 0)); err != nil {
		t.Fatal(err)
	}
}

// hear reads a reply: its kind, its number, and what stands behind its head.
func (l *link) hear(t *testing.T) (kind, uint64, []byte) {
	t.Helper()
	var head [headBytes]byte
	k, n, err := readHead(l.in, &head, maxReply)
	if err != nil {
		t.Fatal(err)
	}
	body, err := readBody(l.in, nil, n)
	if err != nil {
		t.Fatal(err)
	}
	var r reply
	c := cursor{rest: body}
	if k >= frameLoaded && k <= frameRefused {
		r.decode(&c)
	}
	return k, r.id, c.rest
}

func TestRequestsThatAreRefused(t *testing.T) {
	server := options(t, "b")
	server.Fingerprints = []uint64{1, 99}
	_, address, _ := serving(t, &node{}, server)
	users := appendReads(nil, reads(t, server.Catalog, "users:1"))
	for name, tc := range map[string]struct {
		kind kind
		head request
		body []byte
		want class
	}{
		"a second hop":                  {frameLoad, request{hops: 2}, users, classUnavailable},
		"another version of a use case": {frameLoad, request{hops: 1}, append(appendKeys(nil, [][]byte{[]byte("orders:1")}), 0), classUseCase},
		"a use case that is none":       {frameLoad, request{hops: 1}, append(appendKeys(nil, [][]byte{[]byte("nobody:1")}), 0), classUseCase},
		"a key in another spelling":     {frameLoad, request{hops: 1}, append(appendKeys(nil, [][]byte{[]byte("users:01")}), 0), classUseCase},
		"no keys to forget":             {frameForget, request{hops: 1}, []byte{9}, classUnavailable},
		"nobody's hottest":              {frameHottest, request{hops: 1}, nil, classUnavailable},
	} {
		l := raw(t, address)
		tc.head.id = 5
		l.say(t, tc.kind, tc.head, tc.body)
		if k, id, body := l.hear(t); k != frameRefused || id != 5 || len(body) != 1 || class(body[0]) != tc.want {
			t.Errorf("%s: kind %d, number %d, % x", name, k, id, body)
		}
		l.say(t, frameLoad, request{id: 6, hops: 1}, users)
		if k, _, _ := l.hear(t); k != frameSchema {
			t.Errorf("%s: kind %d, where a schema is told first", name, k)
		}
		if k, id, _ := l.hear(t); k != frameLoaded || id != 6 {
			t.Errorf("%s: then kind %d, number %d", name, k, id)
		}
	}
}

// A server works on a bounded number of requests of a connection, and a slow
// one holds up no other.
func TestServingIsBounded(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	h := &node{}
	h.load = func(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
		if string(reqs[0].Key.Text) == "users:0" {
			arrived <- struct{}{}
			<-release
		}
		h.answer(reqs, results)
	}
	server := options(t, "b")
	server.Serving = 3
	_, address, _ := serving(t, h, server)
	l := raw(t, address)
	slow := appendReads(nil, reads(t, server.Catalog, "users:0"))
	quick := appendReads(nil, reads(t, server.Catalog, "users:1"))
	l.say(t, frameLoad, request{id: 1, hops: 1}, slow)
	<-arrived
	l.say(t, frameLoad, request{id: 2, hops: 1}, quick)
	if k, _, _ := l.hear(t); k != frameSchema {
		t.Errorf("kind %d", k)
	}
	if k, id, _ := l.hear(t); k != frameLoaded || id != 2 {
		t.Errorf("kind %d, number %d in front of a slow one", k, id)
	}
	l.say(t, frameLoad, request{id: 3, hops: 1, caller: proxy.Caller{Low: true}}, quick)
	if k, id, body := l.hear(t); k != frameRefused || id != 3 || class(body[0]) != classShed {
		t.Errorf("low priority beyond half: kind %d, number %d, % x", k, id, body)
	}
	for id := uint64(4); id < 6; id++ {
		l.say(t, frameLoad, request{id: id, hops: 1}, slow)
		<-arrived
	}
	l.say(t, frameLoad, request{id: 6, hops: 1}, quick)
	if k, id, body := l.hear(t); k != frameRefused || id != 6 || class(body[0]) != classShed {
		t.Errorf("beyond the bound: kind %d, number %d, % x", k, id, body)
	}
	close(release)
}

// A client that asks for its next row when it has the last one is never beyond
// a bound of one.
func TestAnswerGivesItsPlaceBack(t *testing.T) {
	server := options(t, "b")
	server.Serving = 1
	_, address, _ := serving(t, &node{}, server)
	l := raw(t, address)
	users := appendReads(nil, reads(t, server.Catalog, "users:1"))
	for id := range uint64(5000) {
		l.say(t, frameLoad, request{id: id, hops: 1}, users)
		if id == 0 {
			l.hear(t) // the schema
		}
		if k, its, body := l.hear(t); k != frameLoaded || its != id {
			t.Fatalf("kind %d, number %d, % x, for number %d", k, its, body, id)
		}
	}
}

// A server that ends loses nothing that was sent to it, and nobody holds it
// against it.
func TestDrainLosesNothing(t *testing.T) {
	var worked, answeredTo, ended atomic.Int64
	enough := make(chan struct{})
	h := &node{}
	h.load = func(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
		if worked.Add(1) == 2000 {
			close(enough)
		}
		h.answer(reqs, results)
	}
	_, address, stop := serving(t, h, options(t, "b"))
	own := options(t, "a")
	pool, _ := pooling(t, own)
	to := pool.To("b", address)
	ctx := patience(t)
	var callers sync.WaitGroup
	for i := range 32 {
		callers.Go(func() {
			reqs, results := reads(t, own.Catalog, fmt.Sprintf("users:%d", i)), make([]proxy.Result, 1)
			for {
				err := to.Load(ctx, reqs, results)
				if err != nil {
					ended.Add(1)
					if !errors.Is(err, ErrAway) {
						t.Error(err)
					}
					return
				}
				checkAnswers(t, reqs, results)
				answeredTo.Add(1)
			}
		})
	}
	<-enough
	stop()
	callers.Wait()
	if worked.Load() != answeredTo.Load() || ended.Load() != 32 {
		t.Errorf("%d were worked on, %d answered, %d callers ended", worked.Load(), answeredTo.Load(), ended.Load())
	}
	if n := count(t, pool, "freshet_peer_requests_total", "load lost"); n != 0 || to.breaker.failures.Load() != 0 {
		t.Errorf("%v were lost, and %d failures counted", n, to.breaker.failures.Load())
	}
}

// A panic of the node is the answer to one request.
func TestPanicIsAnAnswer(t *testing.T) {
	h := &node{}
	h.load = func(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
		if string(reqs[0].Key.Text) == "users:0" {
			panic("a defect")
		}
		h.answer(reqs, results)
	}
	_, address, _ := serving(t, h, options(t, "b"))
	own := options(t, "a")
	pool, _ := pooling(t, own)
	to := pool.To("b", address)
	if err := to.Load(patience(t), reads(t, own.Catalog, "users:0"), make([]proxy.Result, 1)); !errors.Is(err, ErrAway) {
		t.Error(err)
	}
	reqs, results := reads(t, own.Catalog, "users:1"), make([]proxy.Result, 1)
	if err := to.Load(patience(t), reqs, results); err != nil {
		t.Error(err)
	}
	checkAnswers(t, reqs, results)
}

// Two nodes whose tables of owners differ both notice, and answer all the same.
func TestRingsThatDisagreeAreCounted(t *testing.T) {
	s, address, _ := serving(t, &node{}, options(t, "b"))
	own := options(t, "a")
	for _, tc := range []struct {
		checksum uint64
		want     float64
	}{{33, 0}, {34, 1}} {
		pool, err := NewPool(own, ringOf(3, tc.checksum))
		if err != nil {
			t.Fatal(err)
		}
		stop := runPool(t, pool)
		if err := pool.To("b", address).Load(patience(t), reads(t, own.Catalog, "users:1"), make([]proxy.Result, 1)); err != nil {
			t.Error(err)
		}
		stop()
		atClient := count(t, pool, "freshet_peer_reply_disagreements_total", "")
		atServer := count(t, s, "freshet_peer_request_disagreements_total", "")
		if atClient != tc.want || atServer != tc.want {
			t.Errorf("checksum %d: %v and %v disagreements", tc.checksum, atClient, atServer)
		}
	}
}

// Both ends show certificates, and each says when the other's is not accepted.
func TestMutualTLS(t *testing.T) {
	good, bad := authority(t), authority(t)
	server := options(t, "b")
	server.ServerTLS = &tls.Config{Certificates: []tls.Certificate{good.certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: good.pool}
	s, address, _ := serving(t, &node{}, server)
	for name, tc := range map[string]struct {
		client *tls.Config
		words  string // "": they work together
	}{
		"good":                    {&tls.Config{Certificates: []tls.Certificate{good.certificate}, RootCAs: good.pool}, ""},
		"no certificate":          {&tls.Config{RootCAs: good.pool}, "the other end ends TLS"},
		"another tier's":          {&tls.Config{Certificates: []tls.Certificate{bad.certificate}, RootCAs: good.pool}, "the other end ends TLS"},
		"a server not to trust":   {&tls.Config{Certificates: []tls.Certificate{good.certificate}, RootCAs: bad.pool}, "not accepted here"},
		"a client without TLS":    {nil, ""},
		"a server of other names": {&tls.Config{Certificates: []tls.Certificate{good.certificate}, RootCAs: good.pool, ServerName: "elsewhere"}, "not accepted here"},
	} {
		own := options(t, "a")
		own.ClientTLS = tc.client
		pool, stop := pooling(t, own)
		_, err := pool.To("b", address).Ask(patience(t))
		if ok := name == "good"; ok != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if p := pool.Problems(); tc.words != "" && (len(p) != 1 || !strings.Contains(p[0], tc.words)) {
			t.Errorf("%s: problems %q", name, p)
		}
		stop()
	}
	if n := count(t, s, "freshet_peer_refused_total", "tls"); n == 0 {
		t.Error("nobody was refused for TLS")
	}
	plain := options(t, "c")
	_, address, _ = serving(t, &node{}, plain)
	own := options(t, "a")
	own.ClientTLS = &tls.Config{RootCAs: good.pool}
	pool, _ := pooling(t, own)
	if _, err := pool.To("c", address).Ask(patience(t)); !errors.Is(err, ErrAway) {
		t.Errorf("TLS with who speaks none: %v", err)
	}
}

type issuer struct {
	certificate tls.Certificate
	pool        *x509.CertPool
}

// authority makes a certificate for loopback that vouches for itself.
func authority(t *testing.T) issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(made)
	return issuer{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool}
}
