package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// guestKeys is how many rows guests read: few enough that all are in memory
// soon. A row's value is the number of its key.
const guestKeys = 1000

var guestTable = []string{
	"CREATE TABLE guests (id int PRIMARY KEY, v text NOT NULL)",
	fmt.Sprintf("INSERT INTO guests SELECT i, 'guest ' || i FROM generate_series(0, %d) i", guestKeys-1),
}

// guestTimeout is how long a read of the source may take for a guest: no
// request of theirs is to take longer, whatever happens to nodes.
const guestTimeout = 5 * time.Second

const guestUseCase = "  - {name: guests, table: guests, column: v, bound: 1h, timeout: 5s}\n"

// guests are programs that read from a tier by the clients of others, with the
// retries that these make by themselves, and count what they are answered.
type guests struct {
	phase atomic.Pointer[string]
	stop  context.CancelFunc
	all   sync.WaitGroup
	mu    sync.Mutex
	order []string // of phases
	seen  map[string]map[string]*tally
}

// tally is what one kind of client saw in one phase.
type tally struct {
	reads, failed, wrong int
	longest              time.Duration
	first, last          time.Time // failures
	says                 map[string]int
}

// aGuest is a way to read, at most several keys at once.
type aGuest struct {
	name string
	read func(ctx context.Context, keys []string) ([]string, error)
	many bool
}

// newGuests connects clients of every kind. Plain ones come to any node that
// takes them, as through a balancer: where a connection is refused, the next
// node is tried. Those of Redis Cluster are told of all nodes.
func newGuests(t *testing.T, ps *processes) *guests {
	t.Helper()
	g := &guests{seen: map[string]map[string]*tally{}}
	var redirects []string
	for _, name := range ps.names {
		redirects = append(redirects, ps.nodes[name].redirects)
	}
	ctx, stop := context.WithCancel(context.Background())
	g.stop = stop
	t.Cleanup(g.end)
	plain := goRedisTier{redis.NewClient(&redis.Options{Addr: "a balancer", Dialer: ps.balanced()})}
	cluster := goRedisTier{redis.NewClusterClient(&redis.ClusterOptions{Addrs: redirects})}
	t.Cleanup(plain.close)
	t.Cleanup(cluster.close)
	for range 3 {
		g.goOn(ctx, aGuest{"go-redis, plain", goMany(plain), true})
		g.goOn(ctx, aGuest{"go-redis, cluster", one(cluster), false})
	}
	other, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: redirects, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	cluster2 := rueidisTier{other}
	t.Cleanup(cluster2.close)
	dial := ps.balanced()
	for range 3 {
		other, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{"balancer:1"}, DisableCache: true, ForceSingleClient: true,
			DialCtxFn: func(ctx context.Context, to string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return dial(ctx, "tcp", to)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		c := rueidisTier{other}
		t.Cleanup(c.close)
		g.goOn(ctx, aGuest{"rueidis, plain", rueidisMany(c), true})
		g.goOn(ctx, aGuest{"rueidis, cluster", one(cluster2), false})
	}
	return g
}

// balanced connects to the nodes in turn; one that refuses is passed over.
func (ps *processes) balanced() func(context.Context, string, string) (net.Conn, error) {
	var turn atomic.Uint64
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		var errs []error
		for range ps.names {
			n := ps.nodes[ps.names[turn.Add(1)%uint64(len(ps.names))]]
			conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", n.forwards)
			if err == nil {
				return conn, nil
			}
			errs = append(errs, err)
		}
		return nil, errors.Join(errs...)
	}
}

func one(c tierClient) func(context.Context, []string) ([]string, error) {
	return func(ctx context.Context, keys []string) ([]string, error) {
		v, err := c.get(ctx, keys[0])
		return []string{v}, err
	}
}

func goMany(c goRedisTier) func(context.Context, []string) ([]string, error) {
	return func(ctx context.Context, keys []string) ([]string, error) {
		found, err := c.mget(ctx, keys...)
		return asTexts(found), err
	}
}

func rueidisMany(c rueidisTier) func(context.Context, []string) ([]string, error) {
	return func(ctx context.Context, keys []string) ([]string, error) {
		return c.Do(ctx, c.B().Mget().Key(keys...).Build()).AsStrSlice()
	}
}

func asTexts(values []any) (out []string) {
	for _, v := range values {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// goOn has a guest read until the end, some 50 times a second.
func (g *guests) goOn(ctx context.Context, a aGuest) {
	g.all.Go(func() {
		for ctx.Err() == nil {
			phase := g.phase.Load()
			if phase != nil {
				g.once(a, *phase)
			}
			time.Sleep(10*time.Millisecond + rand.N(20*time.Millisecond)) // between its requests
		}
	})
}

func (g *guests) once(a aGuest, phase string) {
	keys := make([]string, 1, 8)
	if a.many {
		keys = keys[:8]
	}
	ids := make([]int, len(keys))
	for i := range keys {
		ids[i] = rand.IntN(guestKeys)
		keys[i] = fmt.Sprintf("guests:%d", ids[i])
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	begun := time.Now()
	values, err := a.read(ctx, keys)
	took := time.Since(begun)
	wrong := 0
	for i, id := range ids {
		if err == nil && (i >= len(values) || values[i] != fmt.Sprintf("guest %d", id)) {
			wrong++
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen[phase][a.name].add(err, wrong, took)
}

func (t *tally) add(err error, wrong int, took time.Duration) {
	t.reads++
	t.wrong += wrong
	t.longest = max(t.longest, took)
	if err == nil {
		return
	}
	t.failed++
	if t.last = time.Now(); t.first.IsZero() {
		t.first = t.last
	}
	text := err.Error()
	t.says[text[:min(len(text), 120)]]++
}

// enter begins a phase: requests that begin from now on count as its.
func (g *guests) enter(phase string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.order = append(g.order, phase)
	g.seen[phase] = map[string]*tally{}
	for _, mode := range []string{"plain", "cluster"} {
		for _, library := range []string{"go-redis", "rueidis"} {
			g.seen[phase][library+", "+mode] = &tally{says: map[string]int{}}
		}
	}
	g.phase.Store(&phase)
}

// end returns once no request is under way.
func (g *guests) end() {
	g.stop()
	g.all.Wait()
}

// table shows what was counted, in Markdown. It is called after the end.
func (g *guests) table() string {
	var b strings.Builder
	b.WriteString("| phase | client | requests | failed | wrong | longest | failures from first to last, and what they said |\n|---|---|---|---|---|---|---|\n")
	for _, phase := range g.order {
		for _, kind := range slices.Sorted(maps.Keys(g.seen[phase])) {
			t := g.seen[phase][kind]
			said := ""
			if t.failed > 0 {
				said = fmt.Sprintf("%v: %v", t.last.Sub(t.first).Round(time.Millisecond), t.says)
			}
			fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %v | %s |\n", phase, kind, t.reads, t.failed, t.wrong, t.longest.Round(time.Millisecond), said)
		}
	}
	return b.String()
}
