package command

import (
	"bytes"
	"flag"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"
)

// The marker is asked for behind a stream. What the stream may have said of
// replies is taken back first.
const (
	markerRequest = "*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$2\r\nON\r\n*2\r\n$4\r\nECHO\r\n$8\r\n<marker>\r\n"
	markerReply   = "+OK\r\n$8\r\n<marker>\r\n"
)

// asBefore makes a redis-server hold what newFake does, as far as it can.
var asBefore = multibulk("FLUSHALL") + multibulk("HSET", "users:42", "id", "42", "name", `Ann "A"`, "admin", "true")

const asBeforeReplies = "+OK\r\n:3\r\n"

// ask sends a stream to a redis-server that holds what newFake does, and
// returns its replies, and whether it closed the connection. A stream that is
// cut off ends the connection by itself; else a marker tells where its replies
// end.
func ask(t testing.TB, c net.Conn, stream string, cut bool) (replies string, closed bool) {
	t.Helper()
	defer c.Close()
	go func() {
		if cut {
			io.WriteString(c, asBefore+stream)
			c.(*net.UnixConn).CloseWrite()
			return
		}
		io.WriteString(c, asBefore+stream+markerRequest)
	}()
	var got []byte
	part := make([]byte, 64<<10)
	for {
		n, err := c.Read(part)
		got = append(got, part[:n]...)
		before, complete := bytes.CutSuffix(got, []byte(markerReply))
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			t.Fatalf("redis-server does not answer %.500q, which ends with %q", stream, stream[max(0, len(stream)-500):])
		}
		if complete || err != nil {
			return strings.TrimPrefix(string(before), asBeforeReplies), !complete && !cut
		}
	}
}

// answer is what we answer to a stream that comes in pieces of the given size.
func answer(s *Session, stream string, cut bool, size int) (replies string, closed bool) {
	if !cut {
		stream += markerRequest
	}
	replies, end := drive(s, stream, size)
	return strings.TrimSuffix(replies, markerReply), end != Read
}

// TestAgainstRedis compares random streams, well-formed and not, whole and cut
// off, in RESP2 and RESP3, with what a redis-server answers. Only commands are
// used that mean the same in both; TestDifferences has the others.
func TestAgainstRedis(t *testing.T) {
	againstRedis(t, *streams, func() *Session { return newSession(t, newFake()) })
}

var streams = flag.Int("redis.streams", 2000, "random streams that TestAgainstRedis compares")

func againstRedis(t *testing.T, streams int, session func() *Session) {
	dial := redis(t)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range streams {
		stream, cut := randomStream(random)
		size := 1 + random.IntN(40)
		if len(stream) > 10_000 { // a hundred pieces at most: each is copied with what is not done with
			size = len(stream)/100 + random.IntN(100_000)
		}
		got, closed := answer(session(), stream, cut, size)
		if closed && strings.Contains(stream, "REPLY\r\n$3\r\noff") {
			continue // Redis ends a connection behind its last reply, and never where there is none
		}
		want, wantClosed := ask(t, dial(), stream, cut)
		if strings.Contains(strings.ToLower(stream), "post") || strings.Contains(stream, "Host:") {
			continue // the connection is dropped, and what is lost depends on the pieces
		}
		got, want = sameID(got), sameID(want)
		if rest, ok := strings.CutPrefix(got, want); ok && cut && strings.HasPrefix(rest, "-ERR Protocol error: ") {
			continue // a line that is cut off can be wrong already; Redis looks at whole ones
		}
		if got != want || !cut && closed != wantClosed {
			t.Fatalf("seed %d, stream %d %.1000q (cut off: %v):\n got %.1000q, closed %v\nwant %.1000q, closed %v", seed, i, stream, cut, got, closed, want, wantClosed)
		}
	}
}

// sameID replaces the numbers of connections.
func sameID(replies string) string {
	return connectionID.ReplaceAllString(replies, "$2\r\nid\r\n:1\r\n")
}

func randomStream(r *rand.Rand) (stream string, cut bool) {
	var b strings.Builder
	if r.IntN(3) == 0 {
		b.WriteString(multibulk("HELLO", "3"))
	}
	requests := 1 + r.IntN(6)
	if r.IntN(50) == 0 {
		requests = 1000
	}
	for range requests {
		b.WriteString(randomRequest(r))
	}
	if requests < 10 && r.IntN(5) == 0 {
		return b.String()[:r.IntN(b.Len())], true
	}
	if r.IntN(30) == 0 { // values above every buffer's size
		huge := multibulk("SET", "key:a", strings.Repeat("z", 1+r.IntN(1<<20)))
		return huge + b.String() + multibulk("MGET", "key:a", "key:b", "key:a"), false
	}
	return b.String(), false
}

// randomRequest is one of the kinds of requests below.
func randomRequest(r *rand.Rand) string {
	d := &dice{r}
	switch n := r.IntN(100); {
	case n < 35:
		return d.ofString()
	case n < 60:
		return d.ofHash()
	case n < 70:
		return d.ofKeys()
	case n < 85:
		return d.ofConnection()
	case n < 95:
		return d.wrong()
	}
	return d.bytes()
}

type dice struct{ *rand.Rand }

func (d *dice) pick(words ...string) string { return words[d.IntN(len(words))] }

// name is a name in some case.
func (d *dice) name(names ...string) string {
	name := d.pick(names...)
	if d.IntN(4) == 0 {
		return strings.ToLower(name)
	}
	return name
}

func (d *dice) key() string { return d.pick("key:a", "key:b", "key:", "key:\x01\xff", "key:{x}") }

func (d *dice) word() string {
	return d.pick("", "x", "a b", "\"", "'", "\\", "\r\n", "\xff\x01", "\x00", "$-1", strings.Repeat("y", 1+d.IntN(150)), "key:a")
}

func (d *dice) number() string {
	return d.pick("0", "1", "-1", "2", "-3", "5", "100", "-100", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "x", "", "1.5", " 1", "01")
}

// set is a SET's words with some of its options.
func (d *dice) set() []string {
	words := []string{d.name("SET"), d.key(), d.word()}
	for range d.IntN(3) {
		words = append(words, d.name("NX", "XX", "GET", "GET"))
	}
	return words
}

func (d *dice) ofString() string {
	switch d.IntN(10) {
	case 0, 1:
		return multibulk(d.set()...)
	case 2:
		return multibulk(d.name("MGET"), d.key(), d.key(), d.key())
	case 3:
		return multibulk(d.name("SETNX", "GETSET"), d.key(), d.word())
	case 4:
		return multibulk(d.name("GETDEL", "STRLEN"), d.key())
	case 5:
		return multibulk(d.name("GETRANGE"), d.key(), d.number(), d.number())
	case 6:
		return multibulk(d.name("MSET"), d.key(), d.word(), d.key(), d.word())
	case 7:
		return multibulk(d.name("MSET"), d.key(), d.word(), d.key())
	}
	return multibulk(d.name("GET"), d.key())
}

func (d *dice) field() string { return d.pick("id", "name", "admin", "note", "nobody", "", "NAME") }

// ofHash uses the one row whose columns a hash of Redis has, too. The last
// column only is taken away: Redis puts a field that comes back at the end.
func (d *dice) ofHash() string {
	const key = "users:42"
	switch d.IntN(9) {
	case 0:
		return multibulk(d.name("HGET", "HEXISTS", "HSTRLEN"), key, d.field())
	case 1:
		return multibulk(d.name("HMGET"), key, d.field(), d.field(), d.field())
	case 2:
		return multibulk(d.name("HGETALL", "HKEYS", "HVALS", "HLEN"), key)
	case 3:
		return multibulk(d.name("HSET", "HMSET"), key, d.pick("name", "note"), "x"+d.word())
	case 4:
		return multibulk(d.name("HSET", "HMSET"), key, "name", "x"+d.word(), "note", "x"+d.word(), "name", "y"+d.word())
	case 5:
		return multibulk(d.name("HSET", "HMSET"), key, "name", "x", "note")
	case 6:
		return multibulk(d.name("HDEL"), key, "note", "note")
	case 7:
		return multibulk(d.name("HSCAN"), key, "0", d.name("MATCH"), d.pick("*", "n*", "[ni]*", "i?", "x", "\\n*"))
	}
	return multibulk(d.name("HSCAN"), key, d.pick("0", "x"))
}

func (d *dice) ofKeys() string {
	switch d.IntN(4) {
	case 0:
		return multibulk(d.name("DEL", "UNLINK"), d.key(), d.key())
	case 1:
		return multibulk(d.name("TYPE", "TTL", "PTTL"), d.pick(d.key(), "users:42"))
	}
	return multibulk(d.name("EXISTS", "TOUCH"), d.key(), d.key(), "users:42")
}

func (d *dice) ofConnection() string {
	switch d.IntN(12) {
	case 0:
		return multibulk(d.name("PING", "ECHO"), d.word())
	case 1:
		return multibulk("CLIENT", d.name("SETNAME"), d.word())
	case 2:
		return multibulk("CLIENT", d.pick("GETNAME", "NOBODY"+d.pick("", "x y", "\xff"), "SETNAME"))
	case 3:
		// To Redis an empty line is a command that can be skipped; none follows here.
		return multibulk("CLIENT", "REPLY", d.pick("ON", "off", "x")) + multibulk("CLIENT", "REPLY", "SKIP") + multibulk("GET", d.key())
	case 4:
		return multibulk("CLIENT", "NO-EVICT", d.pick("ON", "off", "x"))
	case 5:
		return multibulk("CLIENT", "KILL", "ID", d.pick("0", "x", "-1", "999999999"))
	case 6:
		return multibulk("SELECT", d.pick("0", "x", "", "99"))
	case 7:
		return multibulk("HELLO", d.pick("2", "3", "4", "x", "1"))
	case 8:
		return multibulk(d.pick("RESET", "ROLE", "EXEC", "DISCARD"))
	case 9:
		return multibulk("AUTH", d.pick("x", "default"), d.pick("x", "y"))
	case 10:
		return multibulk("COMMAND", "GETKEYS", d.pick("GET", "MGET", "SET", "HSET", "PING", "NOBODY", "MSET", "DEL"), "a", "b", "c")
	}
	return multibulk("AUTH", d.word())
}

// wrong is a command that is called wrongly.
func (d *dice) wrong() string {
	switch d.IntN(4) {
	case 0:
		return multibulk(d.pick("GET", "MGET", "SET", "DEL", "UNLINK", "EXISTS", "TOUCH", "TYPE", "TTL", "PTTL", "ECHO", "STRLEN", "GETRANGE", "SETNX", "GETSET", "GETDEL", "MSET",
			"HGET", "HMGET", "HGETALL", "HKEYS", "HVALS", "HLEN", "HEXISTS", "HSTRLEN", "HSET", "HMSET", "HDEL", "HSCAN", "CLIENT", "CONFIG", "CLUSTER", "SELECT", "AUTH"))
	case 1:
		return multibulk("NOBODY"+d.word(), d.word(), d.word(), d.word())
	case 2:
		return multibulk("SET", d.key(), "v", d.word())
	}
	return multibulk(d.pick("GET", "TYPE", "TTL", "STRLEN", "HGETALL", "HLEN", "GETDEL"), "key:a", "key:b")
}

// bytes is no multibulk request, or no request at all.
func (d *dice) bytes() string {
	return d.pick("PING\r\n", "PING\n", "\r\n", "*0\r\n", "*-1\r\n", "ECHO \"a\\x41\\n\"\r\n", "ECHO 'a\\'b\\n'\r\n", "ECHO \"\"\r\n", "  PING  \r\n", "ECHO a\"b c\"\r\n", "ECHO \\n\r\n",
		"*1\r\n$4\r\nPINGxx", "*1\r\n$4\r\nQUIT\r\n", "*2\r\n$3\r\nGET\r\n$-1\r\n", "*abc\r\n", "*2147483648\r\n", "*1\r\n$01\r\n",
		"*1\r\n$-0\r\n", "*1\r\n+x\r\n", "*1\r\n\r\r\n", "*+1\r\n", "*-0\r\n", "*01\r\n", "*1\r\n$99999999999999999999\r\n", "ECHO \"a\r\n", "ECHO \"a\"b\r\n",
		"POST / HTTP/1.1\r\n", "Host: x\r\n", "ECHO 'a\\'\r\n", "*\r\n", "*1\r\n$\r\n", "*1\r\n$ 4\r\nPING\r\n")
}
