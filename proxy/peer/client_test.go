package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// 10,000 loads at once over two connections, answered in any order, while
// callers leave: every answer belongs to its request.
func TestAnswersBelongToTheirRequests(t *testing.T) {
	h := &node{}
	var leave sync.Map // by a key's text: has its caller leave
	h.load = func(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
		timer := time.NewTimer(time.Duration(rand.IntN(3_000)) * time.Microsecond)
		defer timer.Stop()
		<-timer.C
		if f, ok := leave.Load(string(reqs[0].Key.Text)); ok { // just when the answer goes
			f.(context.CancelFunc)()
		}
		h.answer(reqs, results)
	}
	server := options(t, "b")
	server.Serving = 20_000
	_, address, _ := serving(t, h, server)
	own := options(t, "a")
	own.Waiting = 20_000
	pool, _ := pooling(t, own)
	to := pool.To("b", address)
	if _, err := to.Ask(patience(t)); err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	var done, left atomic.Int64
	ctx := patience(t)
	for i := range 10_000 {
		callers.Go(func() {
			reqs := reads(t, own.Catalog, fmt.Sprintf("users:%d", i), fmt.Sprintf("orders:%d", -i-1))
			results := make([]proxy.Result, 2)
			mine, cancel := context.WithCancel(ctx)
			defer cancel()
			switch i % 3 {
			case 0:
				leave.Store(fmt.Sprintf("users:%d", i), cancel)
			case 1: // at some time
				timer := time.AfterFunc(time.Nanosecond<<rand.IntN(33), cancel)
				defer timer.Stop()
			}
			switch err := to.Load(mine, reqs, results); {
			case err == nil:
				done.Add(1)
				checkAnswers(t, reqs, results)
			case errors.Is(err, context.Canceled) && i%3 != 2:
				left.Add(1)
				for _, r := range results {
					if r.Row.Exists() {
						t.Errorf("who has left was answered: %v", r)
					}
				}
			default:
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	callers.Wait()
	t.Logf("%d answered, %d left", done.Load(), left.Load())
	if n := to.waiting.Load() + to.waitBytes.Load(); n != 0 {
		t.Errorf("%d are still counted as waiting", n)
	}
	for _, c := range *to.conns.Load() {
		c.mu.Lock()
		if len(c.calls) != 0 {
			t.Errorf("%d calls are left over", len(c.calls))
		}
		c.mu.Unlock()
	}
}

// script is a server that shakes hands and then does what a test says.
func script(t *testing.T, o Options, f func(l *link)) (address string) {
	t.Helper()
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer nc.Close()
				if link, err := receive(&o, nc); err == nil {
					f(link)
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); running.Wait() })
	return l.Addr().String()
}

// next reads a request: its kind, its number and what stands behind its head.
func next(l *link) (kind, uint64, []byte, error) {
	var head [headBytes]byte
	k, n, err := readHead(l.in, &head, maxRequest)
	if err != nil {
		return 0, 0, nil, err
	}
	body, err := readBody(l.in, nil, n)
	if err != nil {
		return 0, 0, nil, err
	}
	var r request
	c := cursor{rest: body}
	r.decode(&c, l.version)
	return k, r.id, c.rest, nil
}

func replyFrame(k kind, id uint64, body []byte) []byte {
	r := reply{id: id}
	return endFrame(append(r.append(beginFrame(nil, k)), body...), 0)
}

// A reply that comes when its caller has left is nobody's, and least of all
// the next caller's.
func TestLateReply(t *testing.T) {
	late := make(chan struct{})
	address := script(t, options(t, "b"), func(l *link) {
		_, first, _, _ := next(l)
		close(late)
		k, second, _, err := next(l)
		if err != nil || k != frameAsk || second == first {
			t.Errorf("kind %d, number %d behind %d, %v", k, second, first, err)
		}
		l.net.Write(replyFrame(frameRecord, first, appendText(nil, "late")))
		l.net.Write(replyFrame(frameRecord, first, appendText(nil, "and again")))
		l.net.Write(replyFrame(frameRecord, second, appendText(nil, "in time")))
		next(l)
	})
	own := options(t, "a")
	own.Connections = 1
	pool, _ := pooling(t, own)
	to := pool.To("b", address)
	leaving, leave := context.WithCancel(context.Background())
	go func() { <-late; leave() }()
	if _, err := to.Ask(leaving); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if record, err := to.Ask(patience(t)); err != nil || string(record) != "in time" {
		t.Errorf("%q, %v", record, err)
	}
}

// A server that answers with what is no answer loses its connection, and
// nothing else.
func TestHostileServers(t *testing.T) {
	own := options(t, "a")
	answer := func(id uint64) []byte {
		s := newSchemas(t)
		return replyFrame(frameLoaded, id, appendResults(nil, []proxy.Result{{Row: rowOf(oneColumn, "x")}}, maxReply, s.id))
	}
	for name, said := range map[string]func(id uint64) []byte{
		"a row without its schema":  answer,
		"a number not given yet":    func(id uint64) []byte { return answer(id + 1) },
		"number zero":               func(uint64) []byte { return answer(0) },
		"the answer to another":     func(id uint64) []byte { return replyFrame(frameRecord, id, appendText(nil, "x")) },
		"no answers":                func(id uint64) []byte { return replyFrame(frameLoaded, id, []byte{0}) },
		"half an answer":            func(id uint64) []byte { return replyFrame(frameLoaded, id, []byte{1, 0, answerRow}) },
		"a reply of half a head":    func(id uint64) []byte { return appendFrame(nil, frameLoaded, binary.AppendUvarint(nil, id)) },
		"a refusal of no class":     func(id uint64) []byte { return replyFrame(frameRefused, id, nil) },
		"a kind that is none":       func(uint64) []byte { return appendFrame(nil, 99, nil) },
		"a request":                 func(uint64) []byte { return appendFrame(nil, frameLoad, nil) },
		"a frame of four gigabytes": func(uint64) []byte { return []byte("\xff\xff\xff\xff\x1f") },
		"half a frame":              func(uint64) []byte { return []byte("\x00\x00\x01\x00\x1fx") },
		"an endless schema": func(uint64) []byte {
			return appendFrame(nil, frameSchema, []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
		},
		"nothing": func(uint64) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			address := script(t, options(t, "b"), func(l *link) {
				if _, id, _, err := next(l); err == nil {
					l.net.Write(said(id))
				}
			})
			pool, stop := pooling(t, own)
			defer stop()
			to := pool.To("b", address)
			results := make([]proxy.Result, 1)
			if err := to.Load(patience(t), reads(t, own.Catalog, "users:1"), results); !errors.Is(err, errLost) || !errors.Is(err, ErrAway) {
				t.Errorf("%v, %+v", err, results)
			}
			if n := count(t, pool, "freshet_peer_requests_total", "load lost"); n != 1 {
				t.Errorf("%v loads were lost", n)
			}
		})
	}
}

// What cannot be asked for fails at once, and by name.
func TestUseCasesThatAreNotShared(t *testing.T) {
	server := options(t, "b")
	server.Catalog, server.Fingerprints = catalogOf(t, "orders", "users"), []uint64{99, 1}
	h := &node{}
	_, address, _ := serving(t, h, server)
	own := options(t, "a")
	pool, _ := pooling(t, own)
	to := pool.To("b", address)
	ctx := patience(t)
	reqs := reads(t, own.Catalog, "users:1", "orders:2")
	results := make([]proxy.Result, 2)
	if err := to.Load(ctx, reqs, results); !errors.Is(err, ErrUseCase) || !errors.Is(err, proxy.ErrUnknownUseCase) {
		t.Errorf("another version of a use case is asked for: %v", err)
	}
	if err := to.Load(ctx, reqs[:1], results[:1]); err != nil {
		t.Error(err)
	}
	checkAnswers(t, reqs[:1], results[:1])
	if err := to.Forget(ctx, []proxy.Key{reqs[0].Key, reqs[1].Key}); err != nil || fmt.Sprint(h.forgotten) != "[users:1]" {
		t.Errorf("forgotten: %v, %v", h.forgotten, err)
	}
}

// Requests wait in bounded number; callers of low priority stop at half.
func TestQueueIsBounded(t *testing.T) {
	arrived, release := make(chan struct{}, 8), make(chan struct{})
	h := &node{}
	h.load = func(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
		arrived <- struct{}{}
		<-release
		h.answer(reqs, results)
	}
	_, address, _ := serving(t, h, options(t, "b"))
	own := options(t, "a")
	own.Waiting = 4
	pool, _ := pooling(t, own)
	to := pool.To("b", address)
	ctx := patience(t)
	low := (&proxy.Caller{Low: true}).With(ctx)
	var waiting sync.WaitGroup
	ask := func(ctx context.Context) error {
		return to.Load(ctx, reads(t, own.Catalog, "users:1"), make([]proxy.Result, 1))
	}
	begin := func() {
		waiting.Go(func() {
			if err := ask(ctx); err != nil {
				t.Error(err)
			}
		})
		<-arrived
	}
	begin()
	begin()
	if err := ask(low); !errors.Is(err, ErrFull) || !errors.Is(err, proxy.ErrShed) {
		t.Errorf("low priority beyond half: %v", err)
	}
	begin()
	begin()
	if err := ask(ctx); !errors.Is(err, ErrFull) {
		t.Errorf("beyond the bound: %v", err)
	}
	close(release)
	waiting.Wait()
	if err := ask(low); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// A peer that does not answer is left alone, and asked again later.
func TestBreakerKeepsCallsAway(t *testing.T) {
	var heard atomic.Bool
	release := make(chan struct{})
	h := &node{}
	h.load = func(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
		if !heard.Load() {
			<-release
		}
		h.answer(reqs, results)
	}
	_, address, _ := serving(t, h, options(t, "b"))
	defer close(release)
	own := options(t, "a")
	pool, _ := pooling(t, own)
	to := pool.To("b", address)
	if _, err := to.Ask(patience(t)); err != nil {
		t.Fatal(err)
	}
	reqs, results := reads(t, own.Catalog, "users:1"), make([]proxy.Result, 1)
	next := func(pause time.Duration) {
		to.breaker.mu.Lock()
		defer to.breaker.mu.Unlock()
		to.breaker.until = time.Now().Add(pause)
	}
	for !to.breaker.isOpen.Load() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
		if err := to.Load(ctx, reqs, results); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		cancel()
	}
	next(time.Hour)
	if err := to.Load(patience(t), reqs, results); !errors.Is(err, errOpen) || !errors.Is(err, ErrAway) {
		t.Errorf("an open breaker: %v", err)
	}
	if n := count(t, pool, "freshet_peers", "open"); n != 1 {
		t.Errorf("%v peers have an open breaker", n)
	}
	if _, err := to.Ask(patience(t)); err != nil {
		t.Errorf("who asks how it is, is told: %v", err)
	}
	heard.Store(true)
	next(0)
	if err := to.Load(patience(t), reqs, results); err != nil {
		t.Error(err)
	}
	if n := count(t, pool, "freshet_peers", "closed"); n != 1 {
		t.Errorf("%v peers have a closed breaker", n)
	}
}

// A peer that is not there is away at once, and so is one that was let go.
func TestAway(t *testing.T) {
	const closed = "127.0.0.1:1"
	_, address, _ := serving(t, &node{}, options(t, "b"))
	pool, stop := pooling(t, options(t, "a"))
	nobody := pool.To("", closed)
	if _, err := nobody.Ask(patience(t)); !errors.Is(err, ErrAway) {
		t.Error(err)
	}
	somebody := pool.To("b", address)
	if _, err := somebody.Ask(patience(t)); err != nil {
		t.Error(err)
	}
	pool.Keep([]string{closed})
	for { // until its connections are closed
		if _, err := somebody.Ask(patience(t)); err != nil {
			if !errors.Is(err, ErrAway) {
				t.Error(err)
			}
			break
		}
	}
	if pool.To("b", address) == somebody {
		t.Error("who was let go is kept")
	}
	stop()
	if _, err := pool.To("", closed).Ask(patience(t)); !errors.Is(err, ErrAway) {
		t.Errorf("a pool that has ended: %v", err)
	}
}
