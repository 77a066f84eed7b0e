package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// fronts are a tier whose nodes serve clients of Redis Cluster through
// forwarders, so that one can be gone for them without a word.
type fronts struct {
	*several
	of map[string]*stack.Forwarder
}

func newFronts(t *testing.T, names ...string) *fronts {
	t.Helper()
	f := &fronts{newSeveral(t, names...), map[string]*stack.Forwarder{}}
	f.config.Tier.Grace = config.Duration(time.Hour) // who is lost keeps its keys until the end
	for _, name := range names {
		front, err := stack.NewForwarder()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(front.Close)
		f.of[name] = front
		m := f.run(name, func(own *config.Config) {
			own.Node.Listeners = []config.Listener{{Listen: anyPort, Routing: "redirect"}}
			own.Tier.Redirects = front.Address()
		})
		front.To(m.Addresses()[1])
		front.Pass()
	}
	for _, name := range names {
		f.await(f.nodes[name].Node)
	}
	f.agree(names...)
	return f
}

// kill ends what others see of a node, at once.
func (f *fronts) kill(name string) {
	f.of[name].To(nobody)
	f.of[name].Cut()
	f.lose(name)
}

// asks has go-redis ask for keys one by one, and then for these and more in one
// pipeline. It looks for the owners again only when it is told MOVED.
func (f *fronts) asks(keys []string, more ...string) func() error {
	options := &redis.ClusterOptions{
		ReadTimeout: patience, WriteTimeout: patience, PoolTimeout: patience, ClusterStateReloadInterval: time.Hour,
	}
	for _, front := range f.of {
		options.Addrs = append(options.Addrs, front.Address())
	}
	cluster := redis.NewClusterClient(options)
	f.t.Cleanup(func() { cluster.Close() })
	return func() error {
		all := cluster.Pipeline()
		for _, key := range keys {
			if id, err := cluster.HGet(f.t.Context(), key, "id").Result(); err != nil || key != "users:"+id {
				return fmt.Errorf("%s: %q, %w", key, id, err)
			}
		}
		for _, key := range slices.Concat(keys, more) {
			all.HGet(f.t.Context(), key, "id")
		}
		_, err := all.Exec(f.t.Context())
		return err
	}
}

// While a node is dead, the others answer clients of Redis Cluster for its keys
// and tell them of it no more. go-redis, which is told nothing by connections that
// are refused, learns it by itself.
func TestTierLosesANodeOfACluster(t *testing.T) {
	f := newFronts(t, "a", "b", "c")
	dead := f.of["b"].Address()
	lost := f.owned("b", 20)
	at := map[string]*client{"a": f.client(f.of["a"].Address()), "c": f.client(f.of["c"].Address())}
	for name, c := range at {
		eventually(t, name+" sends clients to b", func() bool { return slices.Contains(sentTo(c), dead) })
	}
	ask := f.asks(slices.Concat(f.owned("a", 5), f.owned("c", 5), lost))
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	f.kill("b")
	for name, c := range at {
		eventually(t, name+" answers for b", func() bool { return !slices.Contains(sentTo(c), dead) })
		for _, key := range lost {
			if got := c.do("HGET", key, "id"); key != "users:"+got {
				t.Errorf("%s at %s: %s", key, name, got)
			}
		}
		for line := range strings.Lines(c.do("CLUSTER", "NODES")) {
			if strings.Contains(line, dead) && !strings.HasSuffix(line, " connected\n") {
				t.Errorf("%s says that b has slots: %s", name, line)
			}
		}
	}
	eventually(t, "go-redis asks who is there", func() bool { return ask() == nil })
	for range 20 {
		if err := ask(); err != nil {
			t.Error(err)
		}
	}
}

// A client of Redis Cluster that asks nobody while a node leaves hears of it
// later, of the others.
func TestNodeLeavesAnIdleCluster(t *testing.T) {
	f := newFronts(t, "a", "b", "c")
	others := slices.Concat(f.owned("a", 5), f.owned("c", 5))
	ask := f.asks(others, f.owned("b", 5)...)
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	f.nodes["b"].stop()
	eventually(t, "go-redis knows that b has left", func() bool { return ask() == nil })
}
