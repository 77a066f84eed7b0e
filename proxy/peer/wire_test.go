package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/proxy"
)

// shake has two ends shake hands over a pipe and returns what each says.
func shake(t *testing.T, client, server Options) (atClient, atServer *link, clientErr, serverErr error) {
	t.Helper()
	client, err := client.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	server, err = server.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	a, b := tcp(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if atServer, serverErr = receive(&server, b); serverErr != nil {
			b.Close()
		}
	}()
	if atClient, clientErr = greet(&client, a); clientErr != nil {
		a.Close()
	}
	<-done
	return atClient, atServer, clientErr, serverErr
}

// tcp returns two ends of a connection.
func tcp(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{a, b} {
		c.SetDeadline(time.Now().Add(5 * time.Minute))
		t.Cleanup(func() { c.Close() })
	}
	return a, b
}

// Every pair of builds that have a version in common works together in the
// newest of these, and others say at both ends why they do not.
func TestVersions(t *testing.T) {
	builds := [][2]uint64{{1, 1}, {1, 2}, {2, 2}, {2, 3}, {3, 3}, {3, 4}}
	for _, c := range builds {
		for _, s := range builds {
			client, server := options(t, "a"), options(t, "b")
			client.lowest, client.highest = c[0], c[1]
			server.lowest, server.highest = s[0], s[1]
			atClient, atServer, clientErr, serverErr := shake(t, client, server)
			common := min(c[1], s[1])
			if common >= max(c[0], s[0]) {
				if clientErr != nil || serverErr != nil || atClient.version != common || atServer.version != common {
					t.Errorf("%v with %v: %v, %v", c, s, clientErr, serverErr)
				}
				continue
			}
			for _, err := range []error{clientErr, serverErr} {
				if err == nil || !strings.Contains(err.Error(), "versions") || reasonOf(err) != "version" {
					t.Errorf("%v with %v: %v", c, s, err)
				}
			}
			if want := fmt.Sprintf(`node "b": speaks versions %d to %d of the peer protocol, this node %d to %d`, s[0], s[1], c[0], c[1]); clientErr.Error() != want {
				t.Errorf("%q, want %q", clientErr, want)
			}
		}
	}
}

// Old and new nodes answer each other: what version 1 cannot say is not said.
func TestRollingUpgrade(t *testing.T) {
	for _, tc := range []struct {
		client, server uint64
		low            bool
	}{{1, 1, false}, {1, 2, false}, {2, 1, false}, {2, 2, true}, {2, 3, true}, {3, 2, true}, {3, 3, true}} {
		seen := make(chan proxy.Caller, 1)
		h := &node{}
		h.load = func(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
			seen <- *proxy.CallerOf(ctx)
			h.answer(reqs, results)
		}
		server, client := options(t, "b"), options(t, "a")
		server.highest, client.highest = tc.server, tc.client
		_, address, stopServer := serving(t, h, server)
		pool, stopPool := pooling(t, client)
		reqs := reads(t, client.Catalog, "users:1")
		results := make([]proxy.Result, 1)
		ctx := (&proxy.Caller{Name: "web", Low: true}).With(patience(t))
		if err := pool.To("b", address).Load(ctx, reqs, results); err != nil {
			t.Fatal(err)
		}
		checkAnswers(t, reqs, results)
		if got := <-seen; got != (proxy.Caller{Name: "web", Low: tc.low}) {
			t.Errorf("%d asks %d for %+v", tc.client, tc.server, got)
		}
		err := pool.To("b", address).Void(ctx, reqs[0].Key.UseCase)
		if able := min(tc.client, tc.server) >= 3; able != (err == nil) || able != slices.Equal(h.forgotten, []string{"users"}) {
			t.Errorf("%d tells %d to drop a use case: %v, %q", tc.client, tc.server, err, h.forgotten)
		}
		stopPool()
		stopServer()
	}
}

// Nodes that read two databases are kept apart, and those that do not know yet; a
// build that does not tell is let in.
func TestDatabases(t *testing.T) {
	reads := func(database uint64) func() uint64 { return func() uint64 { return database } }
	for name, c := range map[string]struct {
		client, server     func() uint64
		atClient, atServer string
	}{
		"the same":         {reads(7), reads(7), "", ""},
		"an old server":    {reads(7), nil, "", ""},
		"an old client":    {nil, reads(0), "", ""},
		"two":              {reads(7), reads(8), "reads another database", "reads another database"},
		"one not known":    {reads(7), reads(0), "does not know yet which", "this node does not know yet"},
		"neither is known": {reads(0), reads(0), "this node does not know yet", "this node does not know yet"},
	} {
		client, server := options(t, "a"), options(t, "b")
		client.Database, server.Database = c.client, c.server
		_, _, clientErr, serverErr := shake(t, client, server)
		for _, end := range []struct {
			err  error
			want string
		}{{clientErr, c.atClient}, {serverErr, c.atServer}} {
			if (end.want == "") != (end.err == nil) || end.err != nil && (!strings.Contains(end.err.Error(), end.want) || reasonOf(end.err) != "tier") {
				t.Errorf("%s: %v, want %q", name, end.err, end.want)
			}
		}
	}
}

func TestNodesThatDoNotBelongTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(o *Options)
		reason string
	}{
		"another tier":        {func(o *Options) { o.Tier = 8 }, "tier"},
		"no key":              {func(o *Options) { o.Key = nil }, "key"},
		"another key":         {func(o *Options) { o.Key = []byte("a key of another tier") }, "key"},
		"one name, two nodes": {func(o *Options) { o.Name, o.Instance = "b", 1 }, "name"},
	} {
		client := options(t, "a")
		tc.change(&client)
		_, _, clientErr, serverErr := shake(t, client, options(t, "b"))
		for _, err := range []error{clientErr, serverErr} {
			var refused *RefusedError
			if !errors.As(err, &refused) || reasonOf(err) != tc.reason {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	self := options(t, "b")
	if _, _, clientErr, serverErr := shake(t, self, self); clientErr != nil || serverErr != nil {
		t.Errorf("a node may ask itself: %v, %v", clientErr, serverErr)
	}
}

// The pool says in words what keeps a peer away, and no longer than that.
func TestProblems(t *testing.T) {
	_, address, _ := serving(t, &node{}, options(t, "b"))
	other := options(t, "a")
	other.Tier = 9
	pool, stop := pooling(t, other)
	if _, err := pool.To("", address).Ask(patience(t)); !errors.Is(err, ErrAway) || !errors.Is(err, proxy.ErrUnavailable) {
		t.Errorf("a peer of another tier answers: %v", err)
	}
	if p := pool.Problems(); len(p) != 1 || !strings.Contains(p[0], "another tier") || !strings.Contains(p[0], address) {
		t.Errorf("problems: %q", p)
	}
	stop()

	own := options(t, "a")
	pool, _ = pooling(t, own)
	to := pool.To("c", address)
	ctx := patience(t)
	if record, err := to.Ask(ctx); err != nil || string(record) != "a record" {
		t.Errorf("who it is, it says: %q, %v", record, err)
	}
	reqs := reads(t, own.Catalog, "users:1")
	if err := to.Load(ctx, reqs, make([]proxy.Result, 1)); !errors.Is(err, ErrAway) {
		t.Errorf("a node of another name was asked for keys: %v", err)
	}
	if p := pool.Problems(); len(p) != 1 || !strings.Contains(p[0], `"c" is looked for`) {
		t.Errorf("problems: %q", p)
	}
	pool.To("b", address)
	if err := to.Load(ctx, reqs, make([]proxy.Result, 1)); err != nil || len(pool.Problems()) != 0 {
		t.Errorf("%v, %q", err, pool.Problems())
	}
}

// count returns a counter's or gauge's value, by the values of its labels in order.
func count(t testing.TB, c prometheus.Collector, name, label string) float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := ""
			for _, l := range m.GetLabel() {
				labels += l.GetValue() + " "
			}
			if f.GetName() == name && strings.TrimSpace(labels) == label {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	t.Errorf("there is no %s of %q", name, label)
	return 0
}

// Whatever strangers say, they are shown out, and peers are served.
func TestHostileStrangers(t *testing.T) {
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	hello := (&hello{lowest: 1, highest: 2, name: "x", tier: 7, keyed: true}).append(nil)
	greeting := appendFrame([]byte(magic), frameHello, hello)
	for name, tc := range map[string]struct {
		said   []byte
		reason string
		waits  bool // more could come
	}{
		"noise":                     {noise, "stranger", false},
		"Redis":                     {[]byte("*1\r\n$4\r\nPING\r\n"), "stranger", false},
		"HTTP":                      {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "stranger", false},
		"noise behind magic":        {append([]byte(magic), noise...), "stranger", false},
		"a huge frame":              {[]byte(magic + "\xff\xff\xff\xff\x01"), "stranger", false},
		"half a hello":              {greeting[:20], "stranger", true},
		"silence":                   {nil, "stranger", true},
		"a load before the proof":   {append(bytes.Clone(greeting), appendFrame(nil, frameLoad, make([]byte, 40))...), "stranger", false},
		"a proof of nothing":        {append(bytes.Clone(greeting), appendFrame(nil, frameProof, make([]byte, 32))...), "key", false},
		"an empty proof":            {append(bytes.Clone(greeting), appendFrame(nil, frameProof, nil)...), "key", false},
		"a large frame of no proof": {append(bytes.Clone(greeting), "\x00\x00\xff\xff\x03"...), "stranger", false},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, "b")
			if o.Handshake = time.Minute; tc.waits {
				o.Handshake = 50 * time.Millisecond
			}
			s, address, _ := serving(t, &node{}, o)
			nc, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			nc.SetDeadline(time.Now().Add(5 * time.Minute))
			nc.Write(tc.said)                                                        // fails if it is shown out before
			if said, err := io.ReadAll(nc); errors.Is(err, os.ErrDeadlineExceeded) { // until it is closed
				t.Errorf("still there after %d bytes: %v", len(said), err)
			}
			if n := count(t, s, "freshet_peer_refused_total", tc.reason); n != 1 {
				t.Errorf("%v were refused for %q", n, tc.reason)
			}
		})
	}
}

// What a client has said to one server, or to this one before, proves nothing.
func TestReplay(t *testing.T) {
	client, err := options(t, "a").withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	server, err := options(t, "b").withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	a, b := tcp(t)
	var said bytes.Buffer
	done := make(chan error, 1)
	go func() { _, err := receive(&server, b); done <- err }()
	if _, err := greet(&client, recorded{a, &said}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	a, b = tcp(t)
	go io.Copy(io.Discard, a)
	a.Write(said.Bytes())
	if _, err := receive(&server, b); reasonOf(err) != "key" {
		t.Errorf("what was said once is believed again: %v", err)
	}
}

// A server without the key cannot have the client prove it for him: to say
// the client's own proof back is not to prove.
func TestReflection(t *testing.T) {
	client, err := options(t, "a").withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	a, b := tcp(t)
	go func() {
		talk := newTalk(&client, b)
		its, _ := talk.meet()
		copy(talk.its.nonce[:], "nonce")
		talk.introduce(its) // its own hello, nonce and all
		claimed, _ := talk.expect(frameProof, maxStranger)
		talk.send(frameProof, claimed)
	}()
	if _, err := greet(&client, a); reasonOf(err) != "key" {
		t.Errorf("a mirror has proven the key: %v", err)
	}
}

type recorded struct {
	net.Conn
	said *bytes.Buffer
}

func (r recorded) Write(b []byte) (int, error) {
	r.said.Write(b)
	return r.Conn.Write(b)
}

func TestOptionsAreChecked(t *testing.T) {
	for name, change := range map[string]func(o *Options){
		"no name":             func(o *Options) { o.Name = "" },
		"a long name":         func(o *Options) { o.Name = strings.Repeat("x", 256) },
		"a lazy keep-alive":   func(o *Options) { o.KeepAlive = time.Minute },
		"a short key":         func(o *Options) { o.Key = []byte("short") },
		"no catalog":          func(o *Options) { o.Catalog = nil },
		"a fingerprint short": func(o *Options) { o.Fingerprints = o.Fingerprints[:1] },
	} {
		o := options(t, "a")
		change(&o)
		if _, err := NewServer(&node{}, o); err == nil {
			t.Errorf("%s: a server is made", name)
		}
		if _, err := NewPool(o, ringOf(1, 2)); err == nil {
			t.Errorf("%s: a pool is made", name)
		}
	}
}
