package route

import (
	"context"
	"flag"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

var (
	twinRuns = flag.Int("twin.runs", 6, "tiers that the twin lives through")
	twinSeed = flag.Uint64("twin.seed", 1, "seed of the first")
)

// client is one connection: it does one thing at a time.
type client struct {
	w       *world
	n       *node
	session bool
	token   proxy.Time     // of the session
	tokens  map[string]int // versions that its tokens stand for
	seen    map[string]int // in the session
	latest  proxy.Time     // token of its last write
}

// life is what a client does until ctx ends.
func (c *client) life(ctx context.Context) {
	for ctx.Err() == nil && !c.w.broken() {
		if c.w.chance(8) == 0 {
			c.write(ctx)
		} else {
			c.read(ctx)
		}
		_ = c.w.pause(ctx, 40*time.Millisecond)
	}
}

// some returns a few different keys, most often the first ones.
func (c *client) some() (keys []string) {
	for range 1 + c.w.chance(4) {
		key := keyText(max(0, c.w.chance(worldKeys+4)-4))
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (c *client) write(ctx context.Context) {
	var writes []proxy.Write
	var versions []int
	for i, key := range c.some() {
		c.w.mu.Lock()
		c.w.versions++
		n := c.w.versions
		c.w.stats.writes++
		c.w.mu.Unlock()
		k, _ := c.w.catalog.Key([]byte(key))
		value := row.Field{Name: "v", Kind: row.Text, Value: strconv.AppendInt(nil, int64(n), 10)}
		writes = append(writes, proxy.Write{Key: k, Op: proxy.Put, Fields: []row.Field{value}, Joined: i > 0})
		versions = append(versions, n)
	}
	out := make([]proxy.Written, len(writes))
	began := time.Now()
	c.n.route.Apply(ctx, writes, out)
	if took := time.Since(began); took > 115*time.Millisecond { // the source's 10 ms and Forget's 100
		c.w.fail("a write took %v", took)
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	for i := range writes {
		key := string(writes[i].Key.Text)
		c.n.written[key] = max(c.n.written[key], c.w.orderLocked(key, versions[i]))
		c.tokens[key] = max(c.tokens[key], c.w.orderLocked(key, versions[i]))
		c.latest = max(c.latest, out[i].Token)
		c.token = max(c.token, out[i].Token)
	}
}

// orderLocked is the place of a version in its key's history.
func (w *world) orderLocked(key string, n int) int {
	return slices.IndexFunc(w.history[key], func(v version) bool { return v.n == n })
}

// wish is a read and what it must be answered with.
type wish struct {
	req   proxy.Request
	least int // place in the history
	bound time.Duration
}

func (c *client) wish(key string) wish {
	k, _ := c.w.catalog.Key([]byte(key))
	r := wish{req: proxy.Request{Key: k}, bound: worldBound}
	switch c.w.chance(6) {
	case 0:
		r.req.Strong, r.bound = true, 0
	case 1:
		r.req.MaxStale, r.bound = 10*time.Second, 10*time.Second
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	r.least = c.n.written[key]
	switch {
	case c.session:
		r.req.Token = c.token
		r.least = max(r.least, c.seen[key], c.tokens[key])
	case c.w.rng.IntN(4) == 0:
		r.req.Token = c.latest
		r.least = max(r.least, c.tokens[key])
	}
	return r
}

func (c *client) read(ctx context.Context) {
	var wishes []wish
	var reqs []proxy.Request
	for _, key := range c.some() {
		r := c.wish(key)
		wishes, reqs = append(wishes, r), append(reqs, r.req)
	}
	results := make([]proxy.Result, len(reqs))
	began := time.Now()
	c.n.route.Load(ctx, reqs, results)
	if took := time.Since(began); took > worldTimeout {
		c.w.fail("a read took %v", took)
	}
	if ctx.Err() != nil {
		return
	}
	for i := range results {
		c.check(&wishes[i], &results[i], began)
	}
}

// check is the contract, as naively as it can be put.
func (c *client) check(r *wish, res *proxy.Result, began time.Time) {
	key := string(r.req.Key.Text)
	if res.Err != nil {
		c.w.fail("%s at node %d: %v, and the source is there", key, c.n.id, res.Err)
		return
	}
	n, ok := versionIn(res.Row, key)
	if !ok {
		c.w.fail("%s was answered with another key's row", key)
		return
	}
	c.w.mu.Lock()
	place, history := c.w.orderLocked(key, n), c.w.history[key]
	c.w.stats.reads++
	if res.Origin == proxy.FromCache {
		c.w.stats.hits++
	}
	c.seen[key] = max(c.seen[key], place)
	c.token = max(c.token, res.Upper)
	c.w.mu.Unlock()
	switch {
	case place < 0:
		c.w.fail("%s: version %d was never written", key, n)
	case place < r.least:
		c.w.fail("%s at node %d: version %d is older than what the read must see: place %d of %d (session %v, token %d)",
			key, c.n.id, n, place, r.least, c.session, r.req.Token)
	case place+1 < len(history) && history[place+1].visible.Before(began.Add(-r.bound)):
		c.w.fail("%s at node %d: version %d was overwritten %v before the read, bound %v",
			key, c.n.id, n, began.Sub(history[place+1].visible), r.bound)
	}
}

// rings has nodes change their minds about who owns what, each at its own time,
// and links go down and up.
func (w *world) rings(ctx context.Context) {
	for w.pause(ctx, 400*time.Millisecond) == nil {
		n := w.nodes[w.chance(worldNodes)]
		if w.chance(2) == 0 {
			n.ring.Store(int64(w.chance(4)))
		} else {
			n.links[w.chance(worldNodes)].down.Store(w.chance(4) == 0)
		}
	}
}

// live runs a tier for a while and returns what was wrong.
func live(t *testing.T, seed uint64) (w *world) {
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, seed)
		ctx, cancel := context.WithCancel(t.Context())
		var traffic, nodes sync.WaitGroup
		for _, n := range w.nodes {
			nodes.Go(func() { n.follow(ctx) })
			for i := range 3 {
				c := &client{w: w, n: n, session: i == 0, tokens: map[string]int{}, seen: map[string]int{}}
				traffic.Go(func() { c.life(ctx) })
			}
		}
		nodes.Go(func() { w.rings(ctx) })
		time.Sleep(20 * time.Second)
		cancel()
		traffic.Wait()
		nodes.Wait()
		for _, n := range w.nodes {
			_ = n.cache.Run(ctx)
			w.stats.forwarded += int(n.route.metrics.reads[outcomeForwarded].sum())
			w.stats.hot += int(n.route.metrics.reads[outcomeHot].sum())
			for o := outcomeAway; o < outcomes; o++ {
				w.stats.fallbacks += int(n.route.metrics.reads[o].sum())
			}
		}
	})
	return w
}

func TestTwin(t *testing.T) {
	for i := range *twinRuns {
		w := live(t, *twinSeed+uint64(i))
		if w.failure != "" {
			t.Fatalf("-twin.seed=%d: %s", *twinSeed+uint64(i), w.failure)
		}
		s := w.stats
		if i == 0 {
			t.Logf("%+v", s)
		}
		if s.forwarded*8 < s.reads || s.fallbacks == 0 || s.hot == 0 || s.hits*5 < s.reads || s.unheard == 0 {
			t.Errorf("the run says little: %+v", s)
		}
	}
}
