package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

var operations = flag.Int("clients.operations", 3000, "operations of each Go client in TestCancelledCommandsShiftNothing")

const sampleUser = `{"id":1,"name":"Grace Brook","email":"grace1@shop.example","city":"Lyon","credit":37}`

// goClient is what is asked of each of the Go clients, in its own words.
type goClient interface {
	do(ctx context.Context, args ...string) (any, error)
	pipeline(ctx context.Context, commands ...[]string) ([]any, error)
	transaction(ctx context.Context, key, value string) error
	close()
}

type goRedis struct{ *redis.Client }

func newGoRedis(address string, protocol int) goClient {
	return goRedis{redis.NewClient(&redis.Options{
		Addr: address, Protocol: protocol, ContextTimeoutEnabled: true, MaxRetries: -1,
		ReadTimeout: patience, PoolTimeout: patience,
	})}
}

func words(args []string) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a
	}
	return out
}

func (c goRedis) do(ctx context.Context, args ...string) (any, error) {
	return c.Do(ctx, words(args)...).Result()
}

func (c goRedis) pipeline(ctx context.Context, commands ...[]string) ([]any, error) {
	p := c.Pipeline()
	for _, args := range commands {
		p.Do(ctx, words(args)...)
	}
	replies, err := p.Exec(ctx)
	if err != nil {
		return nil, err
	}
	var out []any
	for _, r := range replies {
		out = append(out, r.(*redis.Cmd).Val())
	}
	return out, nil
}

func (c goRedis) transaction(ctx context.Context, key, value string) error {
	_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, key, value, 0).Err() })
	return err
}

func (c goRedis) close() { c.Close() }

type rueidisClient struct{ rueidis.Client }

func newRueidis(t *testing.T, address string, protocol int) goClient {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{address}, AlwaysRESP2: protocol == 2, DisableCache: true, DisableRetry: true, ForceSingleClient: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return rueidisClient{c}
}

func (c rueidisClient) do(ctx context.Context, args ...string) (any, error) {
	return c.Do(ctx, c.B().Arbitrary(args...).Build()).ToAny()
}

func (c rueidisClient) pipeline(ctx context.Context, commands ...[]string) ([]any, error) {
	var all rueidis.Commands
	for _, args := range commands {
		all = append(all, c.B().Arbitrary(args...).Build())
	}
	var out []any
	for _, r := range c.DoMulti(ctx, all...) {
		v, err := r.ToAny()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (c rueidisClient) transaction(ctx context.Context, key, value string) error {
	for _, r := range c.DoMulti(ctx, c.B().Multi().Build(), c.B().Set().Key(key).Value(value).Build(), c.B().Exec().Build()) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

func (c rueidisClient) close() { c.Close() }

func eachGoClient(t *testing.T, f func(t *testing.T, n *clientNode, dial func() goClient)) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("go-redis/RESP%d", protocol), func(t *testing.T) {
			n := newClientNode(t)
			f(t, n, func() goClient { return newGoRedis(n.address, protocol) })
		})
		t.Run(fmt.Sprintf("rueidis/RESP%d", protocol), func(t *testing.T) {
			n := newClientNode(t)
			f(t, n, func() goClient { return newRueidis(t, n.address, protocol) })
		})
	}
}

// B56: the Go clients, as they come.
func TestGoClients(t *testing.T) {
	eachGoClient(t, func(t *testing.T, n *clientNode, dial func() goClient) {
		c := dial()
		defer c.close()
		ctx := t.Context()
		binary := "\x00\r\n$-1\r\n\xff" + strings.Repeat("x", 1<<20)
		for _, step := range []struct {
			args []string
			want string
		}{
			{[]string{"PING"}, "PONG"},
			{[]string{"SET", "key:go", binary}, "OK"},
			{[]string{"GET", "key:go"}, binary},
			{[]string{"GET", "users:1"}, sampleUser},
			{[]string{"HGET", "users:1", "name"}, "Grace Brook"},
			{[]string{"HMGET", "users:1", "city", "nobody"}, "[Lyon <nil>]"},
			{[]string{"MGET", "key:go2", "users:1", "key:000000000001"}, "[<nil> " + sampleUser + " xxx]"},
			{[]string{"EXISTS", "users:1", "users:999999"}, "1"},
			{[]string{"DEL", "key:go"}, "1"},
		} {
			got, err := c.do(ctx, step.args...)
			if err != nil || fmt.Sprint(got) != step.want {
				t.Errorf("%.60q: got %.60v (%v), want %.60s", step.args, got, err, step.want)
			}
		}
		many := make([][]string, 1000)
		for i := range many {
			many[i] = []string{"ECHO", fmt.Sprint(i)}
		}
		replies, err := c.pipeline(ctx, many...)
		if err != nil || len(replies) != len(many) {
			t.Fatalf("%d replies to a pipeline of %d (%v)", len(replies), len(many), err)
		}
		for i, r := range replies {
			if fmt.Sprint(r) != fmt.Sprint(i) {
				t.Fatalf("reply %d of a pipeline is %v", i, r)
			}
		}
		if err := c.transaction(ctx, "key:tx", "1"); err == nil || !strings.Contains(err.Error(), "transactions are not offered") {
			t.Errorf("a transaction: %v", err)
		}
		if got, _ := c.do(ctx, "EXISTS", "key:tx"); fmt.Sprint(got) != "0" {
			t.Error("part of a refused transaction was carried out")
		}
		n.restart()
		eventually(t, "the client connects again", func() bool {
			got, err := c.do(ctx, "GET", "users:1")
			return err == nil && got == sampleUser
		})
	})
}

// P40, B55: commands that are given up in the middle of a pipeline, over a
// source that is late at random. No reply reaches another request.
func TestCancelledCommandsShiftNothing(t *testing.T) {
	eachGoClient(t, func(t *testing.T, n *clientNode, dial func() goClient) {
		const workers, keys = 64, 5_000
		c := dial()
		defer c.close()
		var begun, answered, givenUp atomic.Int64
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for !t.Failed() {
					op := begun.Add(1)
					if op > int64(*operations) {
						return
					}
					if tryToGiveUp(t, c, op, keys) {
						answered.Add(1)
					} else {
						givenUp.Add(1)
					}
				}
			})
		}
		all.Wait()
		t.Logf("%d answered, %d given up", answered.Load(), givenUp.Load())
		if answered.Load() == 0 || givenUp.Load() == 0 {
			t.Error("nothing was answered, or nothing given up: this shows nothing")
		}
	})
}

// tryToGiveUp carries out one operation, one in three with little patience, and
// reports whether it was answered.
func tryToGiveUp(t *testing.T, c goClient, op int64, keys int) (answered bool) {
	long := patience
	if rand.IntN(3) == 0 {
		long = rand.N(4 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	key := func() string { return fmt.Sprintf("slow:%d", rand.IntN(keys)) }
	payload := fmt.Sprintf("payload %d", op)
	var got, want any
	var err error
	switch a, b := key(), key(); rand.IntN(4) {
	case 0:
		got, err = c.do(ctx, "ECHO", payload)
		want = payload
	case 1:
		got, err = c.do(ctx, "MGET", a, b)
		want = []any{lateValue(a), lateValue(b)}
	case 2:
		got, err = c.pipeline(ctx, []string{"GET", a}, []string{"ECHO", payload}, []string{"GET", b})
		want = []any{lateValue(a), payload, lateValue(b)}
	default:
		got, err = c.do(ctx, "GET", a)
		want = lateValue(a)
	}
	switch {
	case err == nil && fmt.Sprint(got) != fmt.Sprint(want):
		t.Errorf("operation %d was answered with %v, not with %v", op, got, want)
	case err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded):
		t.Errorf("operation %d: %v", op, err)
	}
	return err == nil
}
