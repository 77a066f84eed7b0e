package main

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/node"
)

// launch runs a command until the test ends, and returns what follows in the
// first line of its log that holds each of the words.
func launch(t *testing.T, args []string, words ...string) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	logs, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, args, io.Discard, w)
		w.Close()
		ended <- code
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("%q ended with %d", args, code)
		}
	})
	found := make([]string, len(words))
	lines := bufio.NewScanner(logs)
	for missing := len(words); missing > 0 && lines.Scan(); {
		for i, word := range words {
			if _, rest, ok := strings.Cut(lines.Text(), word); ok && found[i] == "" {
				found[i], _, _ = strings.Cut(rest, " ")
				missing--
			}
		}
	}
	go io.Copy(io.Discard, logs) // ends when the command does
	return found
}

// serve and relay, started as commands in the wrong order, find each other.
func TestServeAndRelay(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.db")
	if err := node.Sample(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	broker, err := node.OpenBroker("127.0.0.1:0", filepath.Join(dir, "kafka"), "some-other-topic", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	file := configuration(t,
		`node: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}`,
		`relay: {admin: "127.0.0.1:0", partitions: 3}`,
		`source: {sqlite: {path: `+path+`}}`,
		`stream: {kafka: {brokers: ["`+broker.Address()+`"], topic: shop}}`,
		`use_cases: [{name: u, table: users, bound: 1h, timeout: 20s}]`)
	address := launch(t, []string{"serve", "--config", file}, "listen=")[0]
	launch(t, []string{"relay", "--config", file}, "relay starts")
	c := dial(t, address)
	const patience = 20 * time.Second // the bound is an hour: only the stream can make it fresh
	for start := time.Now(); strings.Contains(do(t, c, "FRESHET.LAG"), "problem"); time.Sleep(2 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatalf("never without problems:\n%s", do(t, c, "FRESHET.LAG"))
		}
	}
	do(t, c, "GET", "u:1")
	if code, _, stderr := called(t, "dev", "sql", "--dir", dir, "UPDATE users SET city = 'Rome' WHERE id = 1"); code != 0 {
		t.Fatal(stderr)
	}
	becomes(t, c, patience, "Rome", "HGET", "u:1", "city")
}

// A relay without Kafka says so.
func TestRelaySaysThatKafkaIsAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	if err := node.Sample(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	file := configuration(t,
		`relay: {admin: "127.0.0.1:0"}`,
		`source: {sqlite: {path: `+path+`}}`,
		`stream: {kafka: {brokers: ["127.0.0.1:1"], topic: shop}}`, // a port that nothing listens on
		`use_cases: [{name: u, table: users}]`)
	launch(t, []string{"relay", "--config", file}, `msg="waiting for Kafka" topic=shop error=`)
}
