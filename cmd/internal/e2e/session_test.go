package e2e

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
)

// sameRow are two use cases of one table: a write by one makes nothing of the
// other void.
func sameRow() []config.UseCase {
	key, again := mapped("key", "kv", time.Hour), mapped("again", "kv", time.Hour)
	key.Column, again.Column = "value", "value"
	return []config.UseCase{key, again}
}

// sampled is the value of every row of the sample's kv, whose keys are numbers.
const sampled = "xxx"

func numbered(n int) string { return fmt.Sprintf("key:%012d", n) }

// twoNodes are nodes that hear of no change any more. b has the first ten rows
// in memory, and a has nothing.
func twoNodes(t *testing.T) (s *shop, a, b *client) {
	s = newStack(t, sameRow()...)
	t.Cleanup(s.broker().Close)
	stop := s.relay()
	m, n := s.node(), s.node()
	s.await(m)
	s.await(n)
	a, b = s.client(m.Address()), s.client(n.Address())
	for i := range 10 {
		if got := b.do("GET", numbered(i)); got != sampled {
			t.Fatalf("%s of the sample is %s", numbered(i), got)
		}
	}
	stop()
	return s, a, b
}

// In a session, whoever writes reads what was written, also under a name that
// nothing tells of the write.
func TestASessionReadsItsWrites(t *testing.T) {
	s := newStack(t, sameRow()...)
	_, c := s.start()
	c.do("FRESHET.SESSION", "ON")
	for i := range 100 {
		key := strconv.Itoa(i % 3)
		c.do("GET", "again:"+key)
		c.do("SET", "key:"+key, strconv.Itoa(i))
		if got := c.do("GET", "again:"+key); got != strconv.Itoa(i) {
			t.Fatalf("after SET %d, the row is %s", i, got)
		}
	}
}

// What one connection has written, another reads on another node that cannot
// know of it: by the token, however it is told.
func TestATokenShowsAWriteElsewhere(t *testing.T) {
	_, a, b := twoNodes(t)
	for i, read := range []func(key, token string) string{
		func(key, token string) string { return b.do("GET", key+"%?token="+token) },
		func(key, token string) string { return b.do("MGET", key+"%?token="+token) },
		func(key, token string) string { return b.do("FRESHET.GET", key, "TOKEN", token) },
		func(key, token string) string {
			b.do("FRESHET.TOKEN", token)
			return b.do("GET", key)
		},
	} {
		key := numbered(i)
		a.do("SET", key, "new")
		if got := b.do("GET", key); got != sampled {
			t.Fatalf("%s: without a token it is %s: this test shows nothing", key, got)
		}
		if got := read(key, a.do("FRESHET.TOKEN")); got != "new" {
			t.Errorf("%s: with the token it is %s", key, got)
		}
	}
}

// A session that goes to another node, whose entries are older, does not go
// back: neither behind a write nor behind what it has read, whoever wrote that.
func TestASessionOverTwoNodes(t *testing.T) {
	s, a, b := twoNodes(t)
	s.sql("UPDATE kv SET value = 'new'")
	a.do("CLIENT", "SETNAME", "shop%?session")
	if got := a.do("GET", numbered(0)); got != "new" {
		t.Fatalf("on a node that had no entry: %s", got)
	}
	if got := b.do("GET", numbered(4)); got != sampled {
		t.Fatalf("on a node whose entry is old: %s: this test shows nothing", got)
	}
	b.do("FRESHET.SESSION", "ON")
	b.do("FRESHET.TOKEN", a.do("FRESHET.TOKEN"))
	for _, key := range []string{numbered(0), numbered(1), numbered(4)} {
		if got := b.do("GET", key); got != "new" {
			t.Errorf("the session has gone back to %s of %s", got, key)
		}
	}
}

// While a row changes and the stream runs, what a session reads never goes back,
// on either node, by either name of the row, and is the newest in the end.
func TestASessionNeverGoesBackWhileRowsChange(t *testing.T) {
	s := newStack(t, sameRow()...)
	_, writer := s.start()
	other := s.node()
	s.await(other)
	nodes := []*client{writer, s.client(other.Address())}
	token, seen := "0", 0
	for i := range 150 {
		switch i % 3 {
		case 0:
			nodes[i%2].do("SET", "key:x", strconv.Itoa(i))
		case 1:
			s.sql(fmt.Sprintf("UPDATE kv SET value = '%d' WHERE key = 'x'", i))
		}
		c := nodes[(i/2)%2]
		c.do("FRESHET.SESSION", "ON")
		c.do("FRESHET.TOKEN", token)
		now, err := strconv.Atoi(c.do("GET", []string{"key:x", "again:x"}[i%2]))
		if err != nil || i%3 == 0 && (i/2)%2 == i%2 && now != i {
			t.Fatalf("round %d reads %d (%v)", i, now, err)
		}
		if now < seen {
			t.Fatalf("round %d reads %d, behind %d", i, now, seen)
		}
		token, seen = c.do("FRESHET.TOKEN"), now
	}
	nodes[0].becomes(lag, "148", "GET", "key:x")
}

// A bound that a connection asks for is kept without any change heard of.
func TestABoundOfAConnection(t *testing.T) {
	s, a, b := twoNodes(t)
	s.sql("UPDATE kv SET value = 'new'")
	if got := b.do("GET", numbered(1)); got != sampled {
		t.Fatalf("within an hour: %s: this test shows nothing", got)
	}
	b.do("FRESHET.MAXSTALE", "0")
	if got := b.do("GET", numbered(1)); got != "new" {
		t.Errorf("a connection that wants nothing stale reads %s", got)
	}
	a.do("CLIENT", "SETNAME", "app%?maxstale=1")
	if got := a.do("GET", numbered(1)); got != "new" {
		t.Errorf("a connection named so reads %s", got)
	}
}
