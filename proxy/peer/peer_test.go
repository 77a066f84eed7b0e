package peer

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func catalogOf(t testing.TB, names ...string) *proxy.Catalog {
	t.Helper()
	var mappings []*row.Mapping
	for _, name := range names {
		mappings = append(mappings, &row.Mapping{
			Spec: row.Spec{Name: name, Table: name}, Columns: []row.KeyColumn{{Name: "id", Kind: row.KeyInt}},
		})
	}
	c, err := proxy.NewCatalog(mappings...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// options of a node of a small tier.
func options(t testing.TB, name string) Options {
	return Options{
		Name: name, Instance: number(name), Tier: 7,
		Catalog: catalogOf(t, "users", "orders"), Fingerprints: []uint64{1, 2},
		Key: []byte("a key of the whole tier"),
		// A machine that is busy is neither silent nor away.
		KeepAlive: longestSilence / 4, Handshake: 5 * time.Minute, Drain: 5 * time.Minute,
	}
}

func number(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

func ringOf(version, checksum uint64) func() (uint64, uint64) {
	return func() (uint64, uint64) { return version, checksum }
}

// node is a Handler whose answers tell what they answer.
type node struct {
	load func(ctx context.Context, reqs []proxy.Request, results []proxy.Result)

	mu        sync.Mutex
	forgotten []string
}

func (n *node) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	if n.load != nil {
		n.load(ctx, reqs, results)
		return
	}
	n.answer(reqs, results)
}

var oneColumn = &row.Schema{Columns: []string{"key"}}

// answer gives each key's text as its row, and as its position.
func (n *node) answer(reqs []proxy.Request, results []proxy.Result) {
	for i := range reqs {
		results[i] = proxy.Result{
			Row: rowOf(oneColumn, string(reqs[i].Key.Text)), AsOf: proxy.Time(1000), Upper: proxy.Time(2000),
			Position: proxy.Position{Commit: number(string(reqs[i].Key.Text))}, Origin: proxy.FromCache,
		}
	}
}

func rowOf(s *row.Schema, value string) row.Row {
	fields := make([]row.Field, len(s.Columns))
	for i, name := range s.Columns {
		fields[i] = row.Field{Name: name, Kind: row.Text, Value: []byte(value)}
	}
	r, ok := row.Encode(s, fields)
	if !ok {
		panic("no row")
	}
	return r
}

func (n *node) Forget(keys []proxy.Key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, k := range keys {
		n.forgotten = append(n.forgotten, string(k.Text))
	}
}

func (n *node) Void(u *proxy.UseCase) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forgotten = append(n.forgotten, u.Name)
}

func (n *node) Record(string) []byte   { return []byte("a record") }
func (n *node) Ring() (uint64, uint64) { return 3, 33 }

func (n *node) Hottest(member string, most int) [][]byte {
	var keys [][]byte
	for i := range most {
		keys = append(keys, fmt.Appendf(nil, "%s:%d", member, i))
	}
	return keys
}

// serving runs a server; stop ends it and waits.
func serving(t testing.TB, h Handler, o Options) (s *Server, address string, stop func()) {
	t.Helper()
	s, err := NewServer(h, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { s.Run(ctx, l); close(done) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return s, l.Addr().String(), stop
}

// pooling runs a pool; stop ends it and waits.
func pooling(t testing.TB, o Options) (p *Pool, stop func()) {
	t.Helper()
	p, err := NewPool(o, ringOf(3, 33))
	if err != nil {
		t.Fatal(err)
	}
	return p, runPool(t, p)
}

func runPool(t testing.TB, p *Pool) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func reads(t testing.TB, c *proxy.Catalog, keys ...string) []proxy.Request {
	t.Helper()
	reqs := make([]proxy.Request, len(keys))
	for i, k := range keys {
		key, err := c.Key([]byte(k))
		if err != nil {
			t.Fatal(err)
		}
		reqs[i].Key = key
	}
	return reqs
}

func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// checkAnswers reports answers that are not those of their requests.
func checkAnswers(t testing.TB, reqs []proxy.Request, results []proxy.Result) {
	t.Helper()
	for i := range reqs {
		text := string(reqs[i].Key.Text)
		_, value := results[i].Row.Column(0)
		if results[i].Err != nil || string(value) != text || results[i].Position.Commit != number(text) {
			t.Errorf("%s was answered with %q, %v, %v", text, value, results[i].Position, results[i].Err)
		}
	}
}

func TestPeerAnswers(t *testing.T) {
	o := options(t, "b")
	h := &node{}
	_, address, _ := serving(t, h, o)
	own := options(t, "a")
	pool, _ := pooling(t, own)
	to := pool.To("b", address)
	ctx := patience(t)

	reqs := reads(t, own.Catalog, "users:1", "orders:2", "users:3")
	results := make([]proxy.Result, len(reqs))
	if err := to.Load(ctx, reqs, results); err != nil {
		t.Fatal(err)
	}
	checkAnswers(t, reqs, results)
	if r := results[0]; r.AsOf != 1000 || r.Upper != 2000 || r.Origin != proxy.FromCache || r.Pinned {
		t.Errorf("%+v", r)
	}

	keys := []proxy.Key{reqs[0].Key, reqs[1].Key}
	if err := to.Forget(ctx, keys); err != nil || fmt.Sprint(h.forgotten) != "[users:1 orders:2]" {
		t.Errorf("forgotten: %v, %v", h.forgotten, err)
	}
	if record, err := to.Ask(ctx); err != nil || string(record) != "a record" {
		t.Errorf("record %q, %v", record, err)
	}
	hot, err := to.Hottest(ctx, "users", 3)
	if err != nil || fmt.Sprintf("%s", hot) != "[users:0 users:1 users:2]" {
		t.Errorf("hottest: %s, %v", hot, err)
	}
	if pool.To("", address) != to {
		t.Error("the peer at an address is made twice")
	}
}

// A batch of more keys than one request carries is answered all the same.
func TestLargeBatch(t *testing.T) {
	_, address, _ := serving(t, &node{}, options(t, "b"))
	own := options(t, "a")
	pool, _ := pooling(t, own)
	var keys []string
	for i := range 2*maxKeys + 3 {
		keys = append(keys, fmt.Sprintf("users:%d", i))
	}
	reqs := reads(t, own.Catalog, keys...)
	results := make([]proxy.Result, len(reqs))
	if err := pool.To("b", address).Load(patience(t), reqs, results); err != nil {
		t.Fatal(err)
	}
	checkAnswers(t, reqs, results)
}
