package command

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// story runs lines of a command, " => " and its reply, in which line ends are
// blanks, on one connection.
func story(t *testing.T, s *fake, lines string) {
	t.Helper()
	session := newSession(t, s)
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		in, want, _ := strings.Cut(strings.TrimSpace(line), " => ")
		got := strings.TrimSpace(strings.ReplaceAll(do(session, in+"\r\n"), "\r\n", " "))
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestStringWrites(t *testing.T) {
	story(t, newFake(), `
		SET key:a 1 XX => $-1
		SET key:a 1 xx get => $-1
		GET key:a => $-1
		SET key:a 1 NX => +OK
		SET key:a 2 nx => $-1
		SET key:a 2 NX GET => $1 1
		SET key:a 3 GET => $1 1
		SET key:a 4 XX => +OK
		SET key:a 5 NX XX => -ERR syntax error
		SET key:a 5 XX NX => -ERR syntax error
		SET key:a 5 EX => -ERR syntax error
		SET key:a 5 EX 10 PX 10 => -ERR syntax error
		SET key:a 5 EX 10 WHAT => -ERR syntax error
		SET key:a 5 GET PXAT 10 => -ERR keys do not expire: the row lives in the database
		GETSET key:a 6 => $1 4
		GETSET key:b 1 => $-1
		SETNX key:b 2 => :0
		SETNX key:c 2 => :1
		MSET key:a 7 key:d 8 key:a 9 => +OK
		MSET key:a 10 key:d => -ERR wrong number of arguments for 'mset' command
		MSET a 1 b => -ERR wrong number of arguments for 'mset' command
		MGET key:a key:b key:c key:d => *4 $1 9 $1 1 $1 2 $1 8
		GETDEL key:a => $1 9
		GETDEL key:a => $-1
		UNLINK key:b key:b key:c => :2
		SET column:null 1 GET => $-1
		SETNX users:42 x => -ERR SET writes one column, and this use case maps the whole row
		MSET key:a 1 users:42 x => -ERR SET writes one column, and this use case maps the whole row
		GETDEL users:42 => -WRONGTYPE Operation against a key holding the wrong kind of value
		EXISTS key:a users:42 => :1`)
}

func TestHashWrites(t *testing.T) {
	story(t, newFake(), `
		HSET users:42 name Bob note x => :1
		HSET users:42 note y note z note w => :0
		HGET users:42 note => $1 w
		HSET users:1 id 1 name Ann => :2
		HMSET users:1 admin true => +OK
		HGETALL users:1 => *6 $2 id $1 1 $4 name $3 Ann $5 admin $4 true
		HDEL users:1 name name note => :1
		HDEL users:1 name => :0
		HDEL users:2 name => :0
		EXISTS users:2 => :0
		HSET users:2 id 2 => :1
		EXISTS users:2 => :1
		HSET users:2 id 2 => :0
		HSET users:42 name => -ERR wrong number of arguments for 'hset' command
		HSET users:42 name a note => -ERR wrong number of arguments for 'hset' command
		HMSET users:42 name a note => -ERR wrong number of arguments for 'hmset' command
		HMSET a name a note => -ERR wrong number of arguments for 'hmset' command
		HSET key:a f v => -WRONGTYPE Operation against a key holding the wrong kind of value
		HDEL key:a f => -WRONGTYPE Operation against a key holding the wrong kind of value`)
	many := []string{"HSET", "users:42"}
	for i := range maxFields + 1 {
		many = append(many, fmt.Sprint("f", i), "")
	}
	if got := do(newSession(t, newFake()), multibulk(many...)); got != "-"+string(errFields)+"\r\n" {
		t.Errorf("got %q", got)
	}
}

func TestReadsBesideGet(t *testing.T) {
	s := newFake()
	s.rows["key:a"] = encode(value, "Hello")
	story(t, s, `
		STRLEN key:a => :5
		STRLEN key:b => :0
		STRLEN column:null => :0
		STRLEN users:42 => :53
		GETRANGE key:a 1 3 => $3 ell
		GETRANGE key:a -3 -1 => $3 llo
		GETRANGE key:a 0 -1 => $5 Hello
		GETRANGE key:a -100 100 => $5 Hello
		GETRANGE key:a 3 1 => $0
		GETRANGE key:a -1 -3 => $0
		GETRANGE key:b 0 -1 => $0
		GETRANGE users:42 0 5 => $6 {"id":
		GETRANGE key:a x 1 => -ERR value is not an integer or out of range
		TYPE key:a => +string
		TYPE column:null => +string
		TYPE users:42 => +hash
		TYPE users:1 => +none
		TTL key:a => :-1
		PTTL users:1 => :-2
		TOUCH key:a key:b users:42 => :2
		HKEYS users:42 => *3 $2 id $4 name $5 admin
		HVALS users:42 => *3 $2 42 $7 Ann "A" $4 true
		HLEN users:42 => :3
		HLEN users:1 => :0
		HKEYS users:1 => *0
		HEXISTS users:42 name => :1
		HEXISTS users:42 note => :0
		HEXISTS users:42 nothing => :0
		HSTRLEN users:42 name => :7
		HSTRLEN users:42 note => :0
		HLEN key:a => -WRONGTYPE Operation against a key holding the wrong kind of value`)
}

// An MSET is one group, and what is beside it in a pipeline no part of it.
func TestMSetIsJoined(t *testing.T) {
	s := newFake()
	do(newSession(t, s), "SET key:x 1\nMSET key:a 1 key:b 2\nMSET key:c 3\nDEL key:y key:z\n")
	if want := []string{"apply key:x key:a +key:b key:c key:y key:z"}; !reflect.DeepEqual(s.log, want) {
		t.Errorf("got %q, want %q", s.log, want)
	}
}
