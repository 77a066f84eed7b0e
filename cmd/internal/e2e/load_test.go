package e2e

import (
	"sync"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/node"
)

// herd sends the same command many times over each of many connections at the
// same moment, and returns how often each reply came.
func herd(t *testing.T, address string, connections, each int, command ...string) map[string]int {
	t.Helper()
	commands := make([][]string, each)
	for i := range commands {
		commands[i] = command
	}
	clients := make([]*client, connections)
	for i := range clients {
		clients[i] = dial(t, address)
		clients[i].do("PING")
	}
	var mu sync.Mutex
	replies := map[string]int{}
	var running sync.WaitGroup
	start := make(chan struct{})
	for _, c := range clients {
		running.Go(func() {
			<-start
			if err := c.Send(commands...); err != nil {
				t.Error(err)
				return
			}
			for range commands {
				reply, err := c.Receive()
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				replies[reply]++
				mu.Unlock()
			}
		})
	}
	close(start)
	running.Wait()
	return replies
}

// Ten thousand readers of one key that is not in memory are one read of the
// source.
func TestHerdOnAColdKey(t *testing.T) {
	s := newStack(t, everyMapping()...)
	n, c := s.start()
	before := s.metric(n, "freshet_cache_fills_total", `use_case="users"`)
	replies := herd(t, n.Address(), 100, 100, "HGET", "users:1", "credit")
	if len(replies) != 1 || replies["37"] != 10_000 {
		t.Errorf("replies: %v", replies)
	}
	if fills := s.metric(n, "freshet_cache_fills_total", `use_case="users"`) - before; fills != 1 {
		t.Errorf("%v reads of the source, want 1", fills)
	}
	// A key that does not exist is remembered the same way.
	replies = herd(t, n.Address(), 100, 100, "EXISTS", "users:999999")
	if len(replies) != 1 || replies["0"] != 10_000 {
		t.Errorf("replies: %v", replies)
	}
	if fills := s.metric(n, "freshet_cache_fills_total", `use_case="users"`) - before; fills != 2 {
		t.Errorf("%v reads of the source for two keys, want 2", fills)
	}
	c.do("PING")
}

// A change in the middle of a herd costs one more read of the source at most,
// and nobody who asks after it has come gets the old value.
func TestHerdWithAChangeInTheMiddle(t *testing.T) {
	s := newStack(t, everyMapping()...)
	n, c := s.start()
	before := s.metric(n, "freshet_cache_fills_total", `use_case="users"`)
	var herding sync.WaitGroup
	herding.Go(func() {
		for reply := range herd(t, n.Address(), 100, 100, "HGET", "users:1", "credit") {
			if reply != "37" && reply != "38" {
				t.Errorf("a reply that never was the value: %s", reply)
			}
		}
	})
	s.sql("UPDATE users SET credit = 38 WHERE id = 1")
	herding.Wait()
	c.becomes(lag, "38", "HGET", "users:1", "credit")
	if fills := s.metric(n, "freshet_cache_fills_total", `use_case="users"`) - before; fills < 1 || fills > 2 {
		t.Errorf("%v reads of the source, want 1 or 2", fills)
	}
}

// Every node follows the whole stream, and a token is good on each.
func TestSeveralNodes(t *testing.T) {
	s := newStack(t, everyMapping()...)
	first, c := s.start()
	nodes := []*node.Node{first, s.node(), s.node()}
	clients := []*client{c}
	for _, n := range nodes[1:] {
		s.await(n)
		clients = append(clients, s.client(n.Address()))
	}
	for _, c := range clients {
		c.do("GET", "key:shared")
	}
	clients[0].do("SET", "key:shared", "one")
	for _, c := range clients {
		c.becomes(lag, "one", "GET", "key:shared")
	}
	for i, value := range []string{"two", "three", "four"} {
		writer, reader := clients[i%3], clients[(i+1)%3]
		writer.do("SET", "key:shared", value)
		token := writer.do("FRESHET.TOKEN")
		reader.becomes(0, value, "FRESHET.GET", "key:shared", "TOKEN", token)
		writer.becomes(0, value, "GET", "key:shared")
	}
	clients[2].do("DEL", "key:shared")
	for _, c := range clients {
		c.becomes(lag, Nil, "GET", "key:shared")
	}
}

// A node that is told to end answers what it has begun, and is no longer
// ready.
func TestDrain(t *testing.T) {
	s := newStack(t, everyMapping()...)
	t.Cleanup(s.broker().Close)
	s.relay()
	n, err := node.Open(t.Context(), s.config, s.log())
	if err != nil {
		t.Fatal(err)
	}
	stop := s.spawn("node", n.Run)
	s.await(n)
	c := s.client(n.Address())
	const requests = 1000
	commands := make([][]string, requests)
	for i := range commands {
		commands[i] = []string{"ECHO", "hello"}
	}
	if err := c.Send(commands...); err != nil {
		t.Fatal(err)
	}
	c.Receive()
	ended := make(chan struct{})
	go func() { stop(); close(ended) }()
	// Replies come whole, or not at all; and the connection ends.
	for i := 1; ; i++ {
		reply, err := c.Receive()
		if err != nil {
			break
		}
		if reply != "hello" || i > requests {
			t.Fatalf("reply %d is %q", i, reply)
		}
	}
	select {
	case <-ended:
	case <-time.NewTimer(patience).C:
		t.Error("the node does not end")
	}
	if _, err := Dial(n.Address()); err == nil {
		t.Error("a node that has ended takes connections")
	}
}
