package route

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hot"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// answers is an end of a path that says who answered, and remembers what it was
// asked.
type answers struct {
	name string
	mu   sync.Mutex
	got  []proxy.Request
	gone []string // keys made void or forgotten
	err  error    // of a whole batch, for peers
	each error    // of each result
	wait time.Duration
	ctx  error // of the last Forget when it came

	until time.Time // when the last that came had to be answered
}

func (a *answers) answer(ctx context.Context, reqs []proxy.Request, results []proxy.Result) error {
	until, _ := ctx.Deadline()
	a.mu.Lock()
	a.until = until
	a.mu.Unlock()
	for i := range reqs {
		r := reqs[i]
		r.Key.Text = slices.Clone(r.Key.Text)
		a.mu.Lock()
		a.got = append(a.got, r)
		a.mu.Unlock()
	}
	if a.wait > 0 {
		timer := time.NewTimer(a.wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if a.err != nil {
		return a.err
	}
	for i := range reqs {
		value := fmt.Appendf(nil, "%s from %s", reqs[i].Key.Text, a.name)
		r, _ := row.Encode(schema, []row.Field{{Name: "v", Kind: row.Text, Value: value}})
		results[i] = proxy.Result{Row: r, Err: a.each}
	}
	return nil
}

// own is the own path.
type own struct {
	answers
	token proxy.Time
}

func (o *own) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) {
	if err := o.answer(ctx, reqs, results); err != nil {
		for i := range results {
			results[i] = proxy.Result{Err: err}
		}
	}
}

func (o *own) Apply(_ context.Context, writes []proxy.Write, results []proxy.Written) {
	for i := range writes {
		if writes[i].Op == proxy.Delete {
			results[i].Err = proxy.ErrReadOnly
			continue
		}
		results[i] = proxy.Written{Done: true, Token: o.token}
	}
}

func (o *own) Invalidate(key proxy.Key) { o.gone = append(o.gone, string(key.Text)) }

// other is a peer.
type other struct{ answers }

func (o *other) Load(ctx context.Context, reqs []proxy.Request, results []proxy.Result) error {
	return o.answer(ctx, reqs, results)
}

func (o *other) Forget(ctx context.Context, keys []proxy.Key) error {
	o.ctx = ctx.Err()
	if o.wait > 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	for _, k := range keys {
		o.gone = append(o.gone, string(k.Text))
	}
	return o.err
}

// fixed places keys by their last digit: 0 to 3 are this node's, 4 to 6 b's, the
// rest c's.
type fixed struct{ b, c *other }

func (f fixed) Now() Placement { return f }

func (f fixed) Owner(key []byte) Peer {
	switch d := key[len(key)-1]; {
	case d < '4':
		return nil
	case d < '7':
		return f.b
	}
	return f.c
}

type scene struct {
	*Route
	own  *own
	b, c *other
}

func newScene(t testing.TB, o Options) *scene {
	t.Helper()
	s := &scene{
		own: &own{answers: answers{name: "own"}, token: 1 << 40},
		b:   &other{answers{name: "b"}}, c: &other{answers{name: "c"}},
	}
	o.Timeouts = []time.Duration{time.Second, 2 * time.Second}
	s.Route = New(newCatalog(t, "users", "slow"), s.own, fixed{s.b, s.c}, o)
	return s
}

func (s *scene) requests(t testing.TB, keys string) (reqs []proxy.Request) {
	t.Helper()
	for _, text := range strings.Fields(keys) {
		key, err := s.catalog.Key([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		reqs = append(reqs, proxy.Request{Key: key})
	}
	return reqs
}

// read reads keys and returns who answered each, in order.
func (s *scene) read(t testing.TB, keys string) string {
	t.Helper()
	reqs := s.requests(t, keys)
	results := make([]proxy.Result, len(reqs))
	s.Load(t.Context(), reqs, results)
	var who []string
	for i, res := range results {
		switch {
		case res.Err != nil:
			who = append(who, res.Err.Error())
		default:
			_, v := res.Row.Column(0)
			key, name, _ := strings.Cut(string(v), " from ")
			if key != string(reqs[i].Key.Text) {
				t.Errorf("%s has the answer of %s", reqs[i].Key.Text, key)
			}
			who = append(who, name)
		}
	}
	return strings.Join(who, " ")
}

func (s *scene) counted(o outcome) int { return int(s.metrics.reads[o].sum()) }

func TestSplit(t *testing.T) {
	s := newScene(t, Options{})
	for keys, want := range map[string]string{
		"users:1":                 "own",
		"users:1 users:2":         "own own",
		"users:4":                 "b",
		"users:4 users:9 users:5": "b c b",
		"users:1 users:4 users:2": "own b own",
		"users:9 users:1 users:4 users:8 users:3": "c own b c own",
		"users:4 users:4 slow:4 users:1":          "b b b own",
	} {
		if got := s.read(t, keys); got != want {
			t.Errorf("%s: answered by %s, want %s", keys, got, want)
		}
	}
	if own, forwarded := s.counted(outcomeOwn), s.counted(outcomeForwarded); own != 8 || forwarded != 11 {
		t.Errorf("%d own and %d forwarded are counted", own, forwarded)
	}
}

// Whatever keeps an owner from answering, the own path does, and keeps nothing.
func TestFallback(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		each error
		want outcome
	}{
		{"away", errors.New("no connection"), nil, outcomeAway},
		{"unavailable", proxy.ErrUnavailable, nil, outcomeAway},
		{"busy", proxy.ErrShed, nil, outcomeBusy},
		{"another version", proxy.ErrUnknownUseCase, nil, outcomeRefused},
		{"its source is away", nil, proxy.ErrUnavailable, outcomeRefused},
		{"its source is no primary", nil, proxy.ErrNotPrimary, outcomeRefused},
		{"it was late", nil, context.DeadlineExceeded, outcomeRefused},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(t, Options{})
			s.b.err, s.b.each = test.err, test.each
			if got := s.read(t, "users:1 users:4 users:9 users:5"); got != "own own c own" {
				t.Errorf("answered by %s", got)
			}
			if n := s.counted(test.want); n != 2 {
				t.Errorf("%d are counted as %s", n, outcomeNames[test.want])
			}
			for _, r := range s.own.got {
				if theirs := string(r.Key.Text) != "users:1"; r.Unkept != theirs {
					t.Errorf("%s: unkept %v", r.Key.Text, r.Unkept)
				}
			}
		})
	}
}

// What an owner says of a key itself stands.
func TestAnswersThatStand(t *testing.T) {
	for _, err := range []error{proxy.ErrShed, &proxy.RejectedError{Reason: "type"}} {
		s := newScene(t, Options{})
		s.b.each = err
		if got := s.read(t, "users:4"); got != err.Error() {
			t.Errorf("%v became %s", err, got)
		}
	}
}

// The owner has half of the time, the own path the rest, and nobody more.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, Options{})
		s.b.wait = time.Minute
		began := time.Now()
		if got := s.read(t, "users:1 users:4"); got != "own own" || time.Since(began) != 500*time.Millisecond {
			t.Errorf("%s after %v", got, time.Since(began))
		}
		if s.counted(outcomeLate) != 1 {
			t.Error("it is not counted as late")
		}
		began = time.Now()
		if got := s.read(t, "users:1 slow:4"); got != "own own" || time.Since(began) != time.Second {
			t.Errorf("%s after %v", got, time.Since(began))
		}
		s.own.wait = time.Minute
		began = time.Now()
		results := make([]proxy.Result, 1)
		s.Load(t.Context(), s.requests(t, "users:4"), results)
		if !errors.Is(results[0].Err, proxy.ErrUnavailable) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", results[0].Err, time.Since(began))
		}
	})
}

// An owner that is late is waited for beside the own path, and who is first
// counts: so a read does not fail that somebody has answered in its time.
func TestOwnerAndOwnPathAtOnce(t *testing.T) {
	const second = time.Second
	for name, c := range map[string]struct {
		b, own  time.Duration // how long they take, of one second
		err     error         // of the owner, at the end
		each    error         // of each of its answers
		failing error         // of the own path
		want    string
		took    time.Duration
		late    int
	}{
		"the owner is first":                  {b: 700 * time.Millisecond, own: 600 * time.Millisecond, want: "b b", took: 700 * time.Millisecond},
		"the own path is first":               {b: 900 * time.Millisecond, own: 300 * time.Millisecond, want: "own own", took: 800 * time.Millisecond, late: 2},
		"both at once":                        {b: 800 * time.Millisecond, own: 300 * time.Millisecond, took: 800 * time.Millisecond},
		"the own path fails":                  {b: 900 * time.Millisecond, own: 100 * time.Millisecond, failing: proxy.ErrUnavailable, want: "b b", took: 900 * time.Millisecond},
		"the owner fails":                     {b: 600 * time.Millisecond, own: 400 * time.Millisecond, err: proxy.ErrUnavailable, want: "own own", took: 900 * time.Millisecond, late: 2},
		"the owner cannot read":               {b: 600 * time.Millisecond, own: 400 * time.Millisecond, each: proxy.ErrUnavailable, want: "own own", took: 900 * time.Millisecond, late: 2},
		"the owner is late with what it says": {b: 600 * time.Millisecond, own: 400 * time.Millisecond, each: proxy.ErrShed, want: "too much at once too much at once", took: 600 * time.Millisecond},
		"neither":                             {b: time.Minute, own: time.Minute, want: errLate.Error() + " " + errLate.Error(), took: second, late: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, Options{})
				s.b.wait, s.b.err, s.b.each, s.own.wait, s.own.err = c.b, c.err, c.each, c.own, c.failing
				began := time.Now()
				got := s.read(t, "users:4 users:5")
				if c.want != "" && got != c.want || time.Since(began) != c.took {
					t.Errorf("%s after %v", got, time.Since(began))
				}
				if n := s.counted(outcomeLate); c.want != "" && n != c.late {
					t.Errorf("%d are counted as late", n)
				}
				if n := s.counted(outcomeLate) + s.counted(outcomeForwarded); n != 2 {
					t.Errorf("%d of two reads are counted", n)
				}
				if n := s.counted(outcomeLate) + int(s.metrics.vain.Load()); n != len(s.own.got) {
					t.Errorf("%d reads are counted that the own path was asked for, and it was for %d", n, len(s.own.got))
				}
				if deadline := began.Add(second); s.b.until != deadline {
					t.Errorf("the owner is told that it has until %v of %v", s.b.until.Sub(began), second)
				}
				for _, r := range s.own.got {
					if !r.Unkept {
						t.Errorf("%s is kept", r.Key.Text)
					}
				}
				synctest.Wait() // nothing is left behind
			})
		})
	}
}

// Who leaves is not answered by the own path, and is no sign of anything.
func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, Options{})
		s.b.wait = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		results := make([]proxy.Result, 1)
		s.Load(ctx, s.requests(t, "users:4"), results)
		if !errors.Is(results[0].Err, context.DeadlineExceeded) || len(s.own.got) > 0 || s.counted(outcomeLate) > 0 {
			t.Errorf("%v, own path %v, late %d", results[0].Err, s.own.got, s.counted(outcomeLate))
		}
	})
}

func (s *scene) write(t testing.TB, op proxy.WriteOp, keys string) {
	t.Helper()
	var writes []proxy.Write
	for _, r := range s.requests(t, keys) {
		writes = append(writes, proxy.Write{Key: r.Key, Op: op})
	}
	s.Apply(t.Context(), writes, make([]proxy.Written, len(writes)))
}

// Before a write is answered its owners have forgotten the keys, and from then
// on reads carry its token.
func TestWrites(t *testing.T) {
	s := newScene(t, Options{})
	s.write(t, proxy.Put, "users:1 users:4 users:9 users:5")
	if !slices.Equal(s.b.gone, []string{"users:4", "users:5"}) || !slices.Equal(s.c.gone, []string{"users:9"}) {
		t.Errorf("b forgot %v, c %v", s.b.gone, s.c.gone)
	}
	s.read(t, "users:4 users:9 users:1")
	for _, r := range append(s.b.got, s.c.got...) {
		if r.Token < s.own.token || r.Token > s.own.token+2<<unitBits {
			t.Errorf("%s goes with token %d, and was written at %d", r.Key.Text, r.Token, s.own.token)
		}
	}
	if s.own.got[0].Token != 0 {
		t.Error("the own path is asked for a token: its stamp is enough")
	}
	s.b.got = nil
	if s.read(t, "users:6"); s.b.got[0].Token != 0 {
		t.Error("a key that nobody wrote has a floor")
	}
}

// A client that leaves once its write is done does not keep its owner from hearing
// of it.
func TestWriterLeaves(t *testing.T) {
	s := newScene(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Apply(ctx, []proxy.Write{{Key: s.requests(t, "users:4")[0].Key}}, make([]proxy.Written, 1))
	if !slices.Equal(s.b.gone, []string{"users:4"}) || s.b.ctx != nil {
		t.Errorf("b forgot %v, its context: %v", s.b.gone, s.b.ctx)
	}
}

// A write that was certainly not carried out changes nothing.
func TestRefusedWrite(t *testing.T) {
	s := newScene(t, Options{})
	s.write(t, proxy.Delete, "users:4")
	s.read(t, "users:4")
	if len(s.b.gone) > 0 || s.b.got[0].Token != 0 {
		t.Errorf("b forgot %v, and is asked with token %d", s.b.gone, s.b.got[0].Token)
	}
}

// An owner that does not answer holds a write up for a moment only, and it is
// counted.
func TestForgetIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, Options{})
		s.b.wait = time.Minute
		began := time.Now()
		s.write(t, proxy.Put, "users:4 users:5 users:9")
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("a write took %v", took)
		}
		if n := s.metrics.unforgotten.Load(); n != 2 || len(s.c.gone) != 1 {
			t.Errorf("%d keys are counted, c forgot %v", n, s.c.gone)
		}
	})
}

// A replica that is behind could only refuse a token.
func TestReplicasHaveNoFloor(t *testing.T) {
	s := newScene(t, Options{})
	s.catalog.Named("users").Mapping.Replica = true
	s.write(t, proxy.Put, "users:4")
	if s.read(t, "users:4"); s.b.got[0].Token != 0 {
		t.Error("a read of a replica carries a floor")
	}
}

// What peers ask goes to the own path, whoever owns it, and is kept only where
// the ring says so.
func TestForwarded(t *testing.T) {
	s := newScene(t, Options{})
	reqs := s.requests(t, "users:1 users:4 users:9")
	results := make([]proxy.Result, len(reqs))
	s.Forwarded().Load(t.Context(), reqs, results)
	for i, unkept := range []bool{false, true, true} {
		if s.own.got[i].Unkept != unkept || reqs[i].Unkept {
			t.Errorf("%s: unkept %v, the caller's request %v", reqs[i].Key.Text, s.own.got[i].Unkept, reqs[i].Unkept)
		}
	}
	if len(s.b.got)+len(s.c.got) > 0 {
		t.Error("it went on to a third node")
	}
	s.Forwarded().Forget([]proxy.Key{reqs[0].Key, reqs[1].Key})
	if !slices.Equal(s.own.gone, []string{"users:1", "users:4"}) {
		t.Errorf("made void: %v", s.own.gone)
	}
}

// One key that takes most of all reads is served here after a moment, and goes
// back to its owner when it cools down.
func TestHotKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, Options{Hot: hot.Options{}})
		traffic := func(hot bool) {
			for i := range 4000 {
				switch {
				case hot && i%10 > 0:
					s.read(t, "users:4")
				default:
					s.read(t, "users:"+fmt.Sprint(10*i+10+4))
				}
			}
			time.Sleep(time.Second + time.Millisecond)
		}
		traffic(true)
		traffic(true)
		before := len(s.own.got)
		if got := s.read(t, "users:4 users:6"); got != "own b" {
			t.Errorf("the hot key and another: %s", got)
		}
		if s.own.got[before].Unkept {
			t.Error("the hot key is not kept")
		}
		if s.hot.Number() != 1 || s.counted(outcomeHot) == 0 {
			t.Errorf("%d keys are hot, %d reads of them counted", s.hot.Number(), s.counted(outcomeHot))
		}
		for range 10 {
			traffic(false)
		}
		if got := s.read(t, "users:4"); got != "b" {
			t.Errorf("the key that was hot: %s", got)
		}
	})
}
