package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// tells is do for a command that may be refused.
func (c *client) tells(args ...string) string {
	c.t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(reply, "\n", " ")
}

// says runs lines of a command, " => " and its reply on one connection.
func (c *client) says(lines string) {
	c.t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		in, want, _ := strings.Cut(strings.TrimSpace(line), " => ")
		if got := c.tells(strings.Fields(in)...); got != want {
			c.t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

// What is written is what the database has, under every name of the row that is
// written; what it refuses is refused with its reason and changes nothing.
func TestWritesThroughToTheDatabase(t *testing.T) {
	frozen := mapped("frozen", "kv", time.Hour)
	frozen.Column, frozen.ReadOnly = "value", true
	s := newStack(t, append(everyMapping(), frozen)...)
	_, c := s.start()
	c.says(`
		HGET users:1 city => Lyon
		HSET users:1 city Rome credit 5 => 0
		HGET users:1 city => Rome
		HDEL users:1 city => 1
		HDEL users:1 city => 0
		HGET users:1 city => (nil)
		HSET users:1 city Bern => 1
		HSET users:9000 id 9000 name Neo email neo@shop.example => 3
		HMGET users:9000 name credit city => Neo 0 (nil)
		HSET users:9001 city Bern => ERR NOT NULL constraint failed: users.name
		EXISTS users:9001 => 0
		HSET users:1 email neo@shop.example city Oslo => ERR UNIQUE constraint failed: users.email
		HDEL users:1 city name => ERR NOT NULL constraint failed: users.name
		HSET users:1 credit much => ERR column credit takes integers of 64 bits in decimal
		HSET users:1 shoes 44 => ERR table users has no column shoes
		HSET users:1 id 2 => ERR column id is part of the key
		HMGET users:1 city credit => Bern 5
		SET key:a 1 NX GET => (nil)
		SET key:a 2 NX => (nil)
		SET key:a 2 XX GET => 1
		SETNX key:a 3 => 0
		GETSET key:a 4 => 2
		MSET key:b 1 key:c 2 key:b 3 => OK
		MGET key:a key:b key:c => 4 3 2
		MSET key:a 9 frozen:b 9 => ERR use case is read-only
		MGET key:a key:b => 4 3
		GETDEL key:b => 3
		GETDEL key:b => (nil)
		UNLINK key:a key:b key:c => 2
		SET frozen:a 1 => ERR use case is read-only
		DEL frozen:000000000001 => ERR use case is read-only
		TYPE users:1 => hash
		TYPE key:000000000001 => string
		TTL users:1 => -1
		STRLEN key:000000000001 => 3
		DEL users:9000 => 1`)
	if got := s.sql("SELECT id, name, city, credit FROM users WHERE id = 1 OR id > 8999"); got != "id\tname\tcity\tcredit\n1\tGrace Brook\tBern\t5\n" {
		t.Errorf("the database has %q", got)
	}
	c.becomes(patience, "5", "HGET", "by-email:grace1@shop.example", "credit") // with the stream
}

// The cache has no say in a condition: the database decides it, and what it
// found is then known.
func TestConditionsAreDecidedByTheDatabase(t *testing.T) {
	s := newStack(t, sameRow()...)
	t.Cleanup(s.broker().Close)
	stop := s.relay()
	n := s.node()
	s.await(n)
	c := s.client(n.Address())
	c.says(`
		GET key:new => (nil)
		GET key:gone => (nil)
		GET key:000000000001 => xxx`)
	stop()
	s.sql("INSERT INTO kv VALUES ('new', 'theirs'), ('gone', 'theirs')")
	s.sql("DELETE FROM kv WHERE key = '000000000001'")
	c.says(`
		GET key:new => (nil)
		GET key:000000000001 => xxx
		SETNX key:new ours => 0
		GET key:new => theirs
		SET key:gone ours XX GET => theirs
		GET key:gone => ours
		SET key:000000000001 ours XX => (nil)
		GET key:000000000001 => (nil)`)
}

// Of two SETs of one key whose replies cross nobody here knows the later one.
// Both connections then read what the database has, which is one of the two.
func TestSetsWhoseRepliesCross(t *testing.T) {
	s := newStack(t, sameRow()...)
	n, c := s.start()
	writers := []*client{c, s.client(n.Address()), s.client(n.Address())}
	for round := range 200 {
		key := strconv.Itoa(round % 7)
		wrote := make([]string, len(writers))
		var wg sync.WaitGroup
		for i, w := range writers {
			wrote[i] = fmt.Sprintf("%d of %d", round, i)
			wg.Go(func() {
				if got, err := w.Do("SET", "key:"+key, wrote[i]); got != "OK" || err != nil {
					t.Errorf("SET: %q, %v", got, err)
				}
			})
		}
		wg.Wait()
		has := strings.Split(s.sql("SELECT value FROM kv WHERE key = '"+key+"'"), "\n")[1]
		if !slices.Contains(wrote, has) {
			t.Fatalf("the database has %q, which was not written in this round", has)
		}
		for i, w := range writers {
			if got := w.do("GET", "key:"+key); got != has {
				t.Fatalf("round %d: connection %d reads %q, and the database has %q", round, i, got, has)
			}
		}
	}
}

// SCAN lists what is in the database, whatever is in memory.
func TestScanListsTheDatabase(t *testing.T) {
	s := newStack(t, everyMapping()...)
	_, c := s.start()
	count := func(options ...string) (n int) {
		for cursor := "0"; ; {
			page := strings.Split(c.do(append([]string{"SCAN", cursor}, options...)...), "\n")
			for _, k := range page[1:] {
				if k != "" {
					n++
				}
			}
			if cursor = page[0]; cursor == "0" {
				return n
			}
		}
	}
	for options, want := range map[string]int{
		"COUNT 1000":                       2000 + 2000 + 5000 + 500 + 1000,
		"MATCH users:* COUNT 300":          2000,
		"MATCH orders:7:* COUNT 1000":      3,
		"MATCH key:*7 COUNT 1000":          100,
		"TYPE string COUNT 1000":           1000,
		"TYPE hash MATCH key:* COUNT 1000": 0,
	} {
		if got := count(strings.Fields(options)...); got != want {
			t.Errorf("SCAN %s lists %d keys, want %d", options, got, want)
		}
	}
	if got := c.do("DBSIZE"); got != "0" {
		t.Errorf("DBSIZE is %s before anything was read", got)
	}
	c.do("MGET", "users:1", "users:2", "users:99999")
	eventually(t, "three entries", func() bool { return c.do("DBSIZE") == "3" })
	if got := c.do("INFO", "stats"); !strings.Contains(got, "\nkeyspace_misses:3\r\n") {
		t.Errorf("three rows were read from the database, and INFO says\n%s", got)
	}
	c.becomes(patience, "OK", "SET", "key:x", "1")
	if got, err := strconv.Atoi(c.do("MEMORY", "USAGE", "users:1")); err != nil || got < 100 {
		t.Errorf("MEMORY USAGE says %d, %v", got, err)
	}
}

// A connection can be ended from another.
func TestKillingAConnection(t *testing.T) {
	s := newStack(t, sameRow()...)
	n, c := s.start()
	victim := s.client(n.Address())
	id := victim.do("CLIENT", "ID")
	victim.do("CLIENT", "SETNAME", "victim")
	list := c.do("CLIENT", "LIST")
	if strings.Count(list, "\n") != 2 || !strings.Contains(list, "id="+id+" addr="+victim.conn.Address()+" laddr="+n.Address()+" name=victim ") {
		t.Fatalf("CLIENT LIST says\n%s", list)
	}
	c.says(`
		CLIENT KILL ID ` + id + ` => 1
		CLIENT KILL ADDR 127.0.0.1:1 => 0`)
	if got, err := victim.Receive(); err == nil {
		t.Errorf("the connection goes on with %q", got)
	}
	eventually(t, "one connection", func() bool { return strings.Count(c.do("CLIENT", "LIST"), "\n") == 1 })
}
