package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// tierClient is what is asked of each of the Go clients of a tier.
type tierClient interface {
	get(ctx context.Context, key string) (string, error)
	set(ctx context.Context, key, value string) error
	hget(ctx context.Context, key, field string) (string, error)
	mget(ctx context.Context, keys ...string) ([]any, error)
	pipeline(ctx context.Context, keys ...string) ([]string, error)
	close()
}

// goRedisTier is go-redis in either mode.
type goRedisTier struct{ redis.UniversalClient }

func (c goRedisTier) get(ctx context.Context, key string) (string, error) {
	return c.Get(ctx, key).Result()
}

func (c goRedisTier) set(ctx context.Context, key, value string) error {
	return c.Set(ctx, key, value, 0).Err()
}

func (c goRedisTier) hget(ctx context.Context, key, field string) (string, error) {
	return c.HGet(ctx, key, field).Result()
}

func (c goRedisTier) mget(ctx context.Context, keys ...string) ([]any, error) {
	return c.MGet(ctx, keys...).Result()
}

func (c goRedisTier) pipeline(ctx context.Context, keys ...string) (values []string, err error) {
	p := c.Pipeline()
	for _, key := range keys {
		p.Get(ctx, key)
	}
	replies, err := p.Exec(ctx)
	for _, r := range replies {
		values = append(values, r.(*redis.StringCmd).Val())
	}
	return values, err
}

func (c goRedisTier) close() { c.Close() }

// rueidisTier is rueidis in either mode.
type rueidisTier struct{ rueidis.Client }

func (c rueidisTier) get(ctx context.Context, key string) (string, error) {
	return c.Do(ctx, c.B().Get().Key(key).Build()).ToString()
}

func (c rueidisTier) set(ctx context.Context, key, value string) error {
	return c.Do(ctx, c.B().Set().Key(key).Value(value).Build()).Error()
}

func (c rueidisTier) hget(ctx context.Context, key, field string) (string, error) {
	return c.Do(ctx, c.B().Hget().Key(key).Field(field).Build()).ToString()
}

func (c rueidisTier) mget(ctx context.Context, keys ...string) (values []any, err error) {
	found, err := rueidis.MGet(c.Client, ctx, keys)
	for _, key := range keys {
		m := found[key]
		if m.IsNil() {
			values = append(values, nil)
			continue
		}
		v, err := m.ToString()
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, err
}

func (c rueidisTier) pipeline(ctx context.Context, keys ...string) (values []string, err error) {
	var all rueidis.Commands
	for _, key := range keys {
		all = append(all, c.B().Get().Key(key).Build())
	}
	for _, r := range c.DoMulti(ctx, all...) {
		v, err := r.ToString()
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

func (c rueidisTier) close() { c.Close() }

// tierClients are the Go clients in both modes, as they come: no option but
// where to begin.
func tierClients(t *testing.T, tr *clientTier) map[string]tierClient {
	t.Helper()
	n1 := tr.members["n1"]
	plain, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{n1.forwards()}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{n1.redirects()}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]tierClient{
		"go-redis, plain":   goRedisTier{redis.NewClient(&redis.Options{Addr: n1.forwards()})},
		"go-redis, cluster": goRedisTier{redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{n1.redirects()}})},
		"rueidis, plain":    rueidisTier{plain},
		"rueidis, cluster":  rueidisTier{cluster},
	}
}

func someUsers(from, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("users:%d", from+i))
	}
	return keys
}

// names checks that values are the rows of these users.
func names(keys []string, values []any) error {
	if len(values) != len(keys) {
		return fmt.Errorf("%d values for %d keys", len(values), len(keys))
	}
	for i, key := range keys {
		_, id, _ := strings.Cut(key, ":")
		if v, _ := values[i].(string); !strings.HasPrefix(v, `{"id":`+id+",") {
			return fmt.Errorf("%s is %v", key, values[i])
		}
	}
	return nil
}

// round does everything once, with keys of all slots.
func round(ctx context.Context, c tierClient, own string, n int) error {
	keys := someUsers(1+n%50*20, 20)
	values, err := c.mget(ctx, keys...)
	if err == nil {
		err = names(keys, values)
	}
	if err != nil {
		return fmt.Errorf("MGET: %w", err)
	}
	texts, err := c.pipeline(ctx, keys...)
	values = nil
	for _, text := range texts {
		values = append(values, text)
	}
	if err == nil {
		err = names(keys, values)
	}
	if err != nil {
		return fmt.Errorf("a pipeline: %w", err)
	}
	if city, err := c.hget(ctx, "users:1", "city"); err != nil || city != "Lyon" {
		return fmt.Errorf("HGET: %q, %w", city, err)
	}
	key, value := fmt.Sprintf("key:%s-%d", own, n%10), fmt.Sprint(n)
	if err := c.set(ctx, key, value); err != nil {
		return fmt.Errorf("SET: %w", err)
	}
	if got, err := c.get(ctx, key); err != nil || got != value {
		return fmt.Errorf("GET %s after its SET to %s: %q, %w", key, value, got, err)
	}
	return nil
}

// The Go clients at a tier, at any node and as clients of Redis Cluster, while
// a node leaves and another joins. None of their commands fails.
func TestGoClientsOfATier(t *testing.T) {
	tr := newClientTier(t)
	clients := tierClients(t, tr)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	rounds := map[string]*atomic.Int64{}
	for name, c := range clients {
		defer c.close()
		done := &atomic.Int64{}
		rounds[name] = done
		all.Go(func() {
			own := strings.ReplaceAll(name, ", ", "-")
			for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) { // the nodes need the machine too
				if err := round(context.WithoutCancel(ctx), c, own, int(done.Add(1))); err != nil {
					t.Errorf("%s, round %d: %v", name, done.Load(), err)
				}
			}
		})
	}
	goOn := func() {
		t.Helper()
		for name, done := range rounds {
			until := done.Load() + 10
			eventually(t, name+" goes on", func() bool { return done.Load() >= until || t.Failed() })
		}
	}
	goOn()
	tr.leave("n3")
	goOn()
	tr.settle("n1", "n2")
	tr.begin("n4")
	goOn()
	tr.settle("n1", "n2", "n4")
	goOn()
	cancel()
	all.Wait()
	for name, done := range rounds {
		t.Logf("%s: %d rounds", name, done.Load())
	}
	for name, m := range tr.members {
		if gets := tr.metric(m.Node, "freshet_commands_total", `command="get"`); gets == 0 {
			t.Errorf("no client has come to %s", name)
		}
	}
}
