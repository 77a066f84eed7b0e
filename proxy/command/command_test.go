package command

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// TestReplies: one request each, on a connection of its own, in RESP2.
func TestReplies(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"GET key:nobody", "$-1\r\n"},
		{"GET users:42", "$53\r\n{\"id\":42,\"name\":\"Ann \\\"A\\\"\",\"admin\":true,\"note\":null}\r\n"},
		{"GET column:null", "$-1\r\n"},
		{"GET nobody:1", "-ERR no such use case: a key is spelled usecase:part\r\n"},
		{"GET a", "-ERR no such use case: a key is spelled usecase:part\r\n"},
		{"GET users:042", "-ERR bad key: part 1 (id): \"042\" is not an integer in its shortest decimal form\r\n"},
		{"MGET users:1 users:x", "-ERR bad key: part 1 (id): \"x\" is not an integer in its shortest decimal form\r\n"},
		{"MGET key:a column:null users:1", "*3\r\n$-1\r\n$-1\r\n$-1\r\n"},
		{"EXISTS users:42 users:42 column:null key:a", ":3\r\n"},
		{"HGET users:42 name", "$7\r\nAnn \"A\"\r\n"},
		{"HGET users:42 note", "$-1\r\n"},
		{"HGET users:42 nothing", "$-1\r\n"},
		{"HGET users:1 name", "$-1\r\n"},
		{"HGET column:null v", "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"},
		{"HMGET users:42 id note admin", "*3\r\n$2\r\n42\r\n$-1\r\n$4\r\ntrue\r\n"},
		{"HMGET users:1 id note", "*2\r\n$-1\r\n$-1\r\n"},
		{"HGETALL users:42", "*6\r\n$2\r\nid\r\n$2\r\n42\r\n$4\r\nname\r\n$7\r\nAnn \"A\"\r\n$5\r\nadmin\r\n$4\r\ntrue\r\n"},
		{"HGETALL users:1", "*0\r\n"},
		{"SET users:42 x", "-ERR SET writes one column, and this use case maps the whole row\r\n"},
		{"SET key:a 1 EX 10", "-ERR keys do not expire: the row lives in the database\r\n"},
		{"SET key:a 1 KEEPTTL", "-ERR keys do not expire: the row lives in the database\r\n"},
		{"SET key:a 1 WHAT", "-ERR syntax error\r\n"},
		{"DEL users:42 users:42 users:1", ":1\r\n"},
		{"PING hello", "$5\r\nhello\r\n"},
		{"PING a b", "-ERR wrong number of arguments for 'ping' command\r\n"},
		{"ECHO \"\"", "$0\r\n\r\n"},
		{"SELECT 0", "+OK\r\n"},
		{"SELECT 1", "-ERR DB index is out of range\r\n"},
		{"SELECT x", "-ERR value is not an integer or out of range\r\n"},
		{"HELLO 4", "-NOPROTO unsupported protocol version\r\n"},
		{"HELLO 3 AUTH bob x", "-WRONGPASS invalid username-password pair or user is disabled.\r\n"},
		{"HELLO 3 AUTH bob", "-ERR Syntax error in HELLO option 'AUTH'\r\n"},
		{"HELLO 3 SETNAME \"a b\"", "-ERR Client names cannot contain spaces, newlines or special characters.\r\n"},
		{"AUTH default x", "+OK\r\n"},
		{"AUTH bob x", "-WRONGPASS invalid username-password pair or user is disabled.\r\n"},
		{"AUTH a b c", "-ERR syntax error\r\n"},
		{"CLIENT ID", ":1\r\n"},
		{"CLIENT SETNAME x", "+OK\r\n"},
		{"CLIENT SETINFO LIB-NAME y", "+OK\r\n"},
		{"CLIENT SETINFO lib-ver 1", "+OK\r\n"},
		{"CLIENT SETINFO x 1", "-ERR Unrecognized option 'x'\r\n"},
		{"CLIENT GETNAME", "$-1\r\n"},
		{"CLIENT", "-ERR wrong number of arguments for 'client' command\r\n"},
		{"CLUSTER", "-ERR wrong number of arguments for 'cluster' command\r\n"},
		{"CONFIG", "-ERR wrong number of arguments for 'config' command\r\n"},
		{"CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command\r\n"},
		{"CLIENT MAINT_NOTIFICATIONS ON", "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.\r\n"},
		{"CONFIG GET save", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"},
		{"CONFIG GET maxmemory", "*0\r\n"},
		{"ROLE", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"},
		{"COMMAND INFO nothing get", "*2\r\n$-1\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n*0\r\n*0\r\n*0\r\n*0\r\n"},
		{"COMMAND DOCS echo", "*2\r\n$4\r\necho\r\n*4\r\n$7\r\nsummary\r\n$20\r\nAnswers the message.\r\n$5\r\ngroup\r\n$10\r\nconnection\r\n"},
		{"INFO replication", "$48\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n"},
		{"NOBODY a 1 b", "-ERR unknown command 'NOBODY', with args beginning with: 'a' '1' 'b' \r\n"},
		{"FRESHET.GET users:1", "$-1\r\n"},
		{"FRESHET.GET users:1 MAXSTALE", "-ERR syntax error\r\n"},
		{"FRESHET.GET users:1 MAXSTALE -1", "-ERR MAXSTALE is not a number of milliseconds\r\n"},
		{"FRESHET.GET users:1 MAXSTALE 9223372036854775807", "-ERR MAXSTALE is not a number of milliseconds\r\n"},
		{"FRESHET.GET users:1 TOKEN x", "-ERR TOKEN is not a token of FRESHET.TOKEN\r\n"},
		{"FRESHET.GET users:1 WHAT", "-ERR syntax error\r\n"},
		{"FRESHET.TOKEN", "$-1\r\n"},
		{"FRESHET.EXPLAIN key:a", "*4\r\n$3\r\nkey\r\n$5\r\nkey:a\r\n$5\r\nentry\r\n$6\r\nabsent\r\n"},
		{"FRESHET.EXPLAIN a", "-ERR no such use case: a key is spelled usecase:part\r\n"},
		{"FRESHET.LAG", "*2\r\n$9\r\nwatermark\r\n$5\r\nnever\r\n"},
		{"FRESHET.INVALIDATE key:a key:b", "-ERR syntax error\r\n"},
		{"FRESHET.INVALIDATE USECASE", "-ERR syntax error\r\n"},
		{"FRESHET.INVALIDATE USECASE nobody", "-ERR no such use case: a key is spelled usecase:part\r\n"},
	} {
		if got := do(newSession(t, newFake()), c.in+"\r\n"); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

func TestProof(t *testing.T) {
	s := newFake()
	s.rows["key:a"] = encode(value, "1")
	const v2 = "*12\r\n$5\r\nvalue\r\n$1\r\n1\r\n$7\r\nversion\r\n$3\r\n7/2\r\n$5\r\nas_of\r\n$19\r\n1700000000000000001\r\n$5\r\nupper\r\n$-1\r\n$9\r\nbound_met\r\n:1\r\n$6\r\norigin\r\n$3\r\nhit\r\n"
	if got := do(newSession(t, s), "FRESHET.GET key:a PROOF\r\n"); got != v2 {
		t.Errorf("RESP2: got %q, want %q", got, v2)
	}
	s.origin = proxy.FromStale
	session := newSession(t, s)
	do(session, "HELLO 3\r\n")
	const v3 = "%6\r\n$5\r\nvalue\r\n$1\r\n1\r\n$7\r\nversion\r\n$3\r\n7/2\r\n$5\r\nas_of\r\n$19\r\n1700000000000000001\r\n$5\r\nupper\r\n_\r\n$9\r\nbound_met\r\n#f\r\n$6\r\norigin\r\n$5\r\nstale\r\n"
	if got := do(session, "FRESHET.GET key:a PROOF\r\n"); got != v3 {
		t.Errorf("RESP3: got %q, want %q", got, v3)
	}
}

func TestFreshness(t *testing.T) {
	s := newFake()
	session := newSession(t, s)
	for in, want := range map[string]proxy.Freshness{
		"":                          {},
		"MAXSTALE 1500":             {MaxStale: 1500 * time.Millisecond},
		"maxstale 0":                {Strong: true},
		"STRONG PROOF":              {Strong: true},
		"TOKEN 12":                  {Token: 12},
		"TOKEN 12 MAXSTALE 5 PROOF": {Token: 12, MaxStale: 5 * time.Millisecond},
	} {
		do(session, "FRESHET.GET key:a "+in+"\r\n")
		if got := s.last[0].Freshness; got != want {
			t.Errorf("%q asks for %+v, want %+v", in, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("load: %w", proxy.ErrUnavailable), "-UNAVAILABLE the source did not answer in time, and nothing within the bound is at hand\r\n"},
		{fmt.Errorf("set: %w", &proxy.UnavailableError{Reason: "database or disk is full", Err: errors.New("/var/x.db (13)")}), "-UNAVAILABLE the source cannot answer: database or disk is full\r\n"},
		{proxy.ErrNotPrimary, "-UNAVAILABLE the source was not answered by its current primary\r\n"},
		{proxy.ErrUnknownOutcome, "-UNKNOWN the source was lost while the write committed: it may have happened or not\r\n"},
		{proxy.ErrReadOnly, "-ERR use case is read-only\r\n"},
		{fmt.Errorf("set: %w", &proxy.RejectedError{Reason: "CHECK failed:\nv > 0"}), "-ERR CHECK failed: v > 0\r\n"},
		{errors.New("disk I/O error"), "-ERR disk I/O error\r\n"},
	} {
		s := newFake()
		s.errs["key:a"] = c.err
		for _, in := range []string{"GET key:a", "MGET key:b key:a", "EXISTS key:a", "SET key:a 1", "DEL key:b key:a", "FRESHET.GET key:a PROOF"} {
			if got := do(newSession(t, s), in+"\r\n"); got != c.want {
				t.Errorf("%v, %s: got %q, want %q", c.err, in, got, c.want)
			}
		}
	}
}

func TestTokenIsOfTheLastWrite(t *testing.T) {
	s := newFake()
	session := newSession(t, s)
	want := "+OK\r\n+OK\r\n$1\r\n2\r\n:1\r\n$1\r\n3\r\n+RESET\r\n$-1\r\n"
	if got := do(session, "SET key:a 1\nSET key:b 2\nFRESHET.TOKEN\nDEL key:a\nFRESHET.TOKEN\nRESET\nFRESHET.TOKEN\n"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := do(newSession(t, s), "FRESHET.TOKEN\n"); got != "$-1\r\n" {
		t.Errorf("another connection's token: %q", got)
	}
}

func TestInspector(t *testing.T) {
	s := newFake()
	got := do(newSession(t, s), "FRESHET.INVALIDATE users:42\nFRESHET.INVALIDATE usecase users\n")
	if want := []string{"invalidate users:42", "void users"}; got != "+OK\r\n+OK\r\n" || !reflect.DeepEqual(s.log, want) {
		t.Errorf("got %q and %q, want %q", got, s.log, want)
	}
	s.untold = []string{"n2", "n3"}
	got = do(newSession(t, s), "FRESHET.INVALIDATE users:42\nFRESHET.INVALIDATE usecase users\n")
	if want := strings.Repeat("-UNAVAILABLE dropped, but perhaps not at n2, n3: say it again\r\n", 2); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Replies change with the protocol version, and RESET takes it back.
func TestProtocolVersions(t *testing.T) {
	session := newSession(t, newFake())
	hello := func(version int) string {
		return fmt.Sprintf("$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:%d\r\n$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n", version)
	}
	for _, c := range []struct{ in, want string }{
		{"GET key:a", "$-1\r\n"},
		{"HELLO", "*14\r\n" + hello(2)},
		{"HELLO 3 AUTH default pw SETNAME me", "%7\r\n" + hello(3)},
		{"GET key:a", "_\r\n"},
		{"CLIENT GETNAME", "$2\r\nme\r\n"},
		{"HGETALL users:1", "%0\r\n"},
		{"INFO persistence", "=30\r\ntxt:# Persistence\r\nloading:0\r\n\r\n"},
		{"HELLO 4", "-NOPROTO unsupported protocol version\r\n"},
		{"HELLO", "%7\r\n" + hello(3)},
		{"HELLO 2", "*14\r\n" + hello(2)},
		{"GET key:a", "$-1\r\n"},
		{"HELLO 3", "%7\r\n" + hello(3)},
		{"RESET", "+RESET\r\n"},
		{"CLIENT GETNAME", "$-1\r\n"},
	} {
		if got := do(session, c.in+"\r\n"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestInfoHasWhatReadyChecksRead(t *testing.T) {
	got := do(newSession(t, newFake()), "INFO\r\n")
	for _, line := range []string{"redis_version:7.0.15", "loading:0", "role:master", "cluster_enabled:0", "freshet_version:devel"} {
		if !strings.Contains(got, "\r\n"+line+"\r\n") {
			t.Errorf("INFO has no line %q", line)
		}
	}
}

// Every row of the table is documented, callable, and counted by its name.
func TestTable(t *testing.T) {
	s := newFake()
	c := New(catalog(t), s, s, Options{})
	session := c.NewSession()
	for _, r := range c.rows {
		if r.name != strings.ToLower(r.name) || len(r.name) > maxName {
			t.Errorf("%q cannot be found by its name", r.name)
		}
		if r.arity == 0 || r.group == "" || r.summary == "" || r.run == nil && r.subs == nil {
			t.Errorf("row %q is not complete", r.name)
		}
		if r.name != "quit" {
			do(session, strings.ToUpper(r.name)+"\r\n")
		}
	}
	do(session, "CLIENT ID\nNOBODY\n\"\xff\xfe\"\nQUIT\n")
	want := map[string]uint64{"client": 2, "other": 2}
	c.Counts(func(name string, n uint64) {
		if n != max(1, want[name]) {
			t.Errorf("%s was called %d times by the counters", name, n)
		}
	})
}
