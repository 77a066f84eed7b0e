package command

import (
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
)

func TestAbout(t *testing.T) {
	story(t, newFake(), `
		COMMAND GETKEYS GET key:a => *1 $5 key:a
		COMMAND GETKEYS MSET a 1 b 2 => *2 $1 a $1 b
		COMMAND GETKEYS DEL a b c => *3 $1 a $1 b $1 c
		COMMAND GETKEYS MEMORY USAGE a => *1 $1 a
		COMMAND GETKEYS PING x => -ERR The command has no key arguments
		COMMAND GETKEYS GET => -ERR wrong number of arguments for 'command|getkeys' command
		COMMAND GETKEYS GET a b => -ERR Invalid number of arguments specified for command
		COMMAND GETKEYS NOBODY x => -ERR Invalid command specified
		COMMAND INFO client|nobody nobody|x => *2 $-1 $-1
		COMMAND DOCS client|id => *2 $9 client|id *4 $7 summary $24 The connection's number. $5 group $10 connection
		CONFIG GET data* save => *4 $9 databases $1 1 $4 save $0
		CONFIG GET nobody => *0
		CONFIG SET maxmemory 1 => -ERR settings are changed in the node's configuration file
		CONFIG NOBODY => -ERR unknown subcommand 'NOBODY'. Try CONFIG HELP.
		CONFIG HELP => *3 +CONFIG <subcommand> [<arg> ...]. Subcommands are: +GET +    What Redis' settings would be here, by patterns.
		CONFIG HELP GET => -ERR unknown subcommand 'HELP'. Try CONFIG HELP.
		CLIENT TRACKING ON => -ERR client-side caching is not offered: read with a bound, and keep nothing beyond it
		CLIENT NO-EVICT on => +OK
		CLIENT NO-TOUCH maybe => -ERR syntax error
		EXPIRE key:a 10 => -ERR keys do not expire: the row lives in the database
		WATCH key:a => -ERR transactions are not offered
		DBSIZE => :0
		MEMORY USAGE users:42 => $-1
		MEMORY USAGE users:42 SAMPLES 5 => $-1
		MEMORY USAGE users:42 SAMPLES x => -ERR value is not an integer or out of range
		MEMORY USAGE users:42 WHAT 1 => -ERR syntax error
		INFO keyspace => $12 # Keyspace`)
	time := do(newSession(t, newFake()), "TIME\r\n")
	if !strings.HasPrefix(time, "*2\r\n$10\r\n") {
		t.Errorf("TIME: %q", time)
	}
}

// Whoever is told to try HELP is helped: but strangers are told nothing.
func TestHelp(t *testing.T) {
	s := newFake()
	c := New(catalog(t), s, s, Options{Cluster: newTier()})
	for _, top := range c.rows {
		if top.subs == nil {
			continue
		}
		session := c.NewSession()
		if top.name == "cluster" {
			session.Redirect()
		}
		got := do(session, top.name+" help\r\n")
		for _, sub := range top.subs {
			if line := "\r\n+" + strings.ToUpper(sub.name) + "\r\n+    " + sub.summary + "\r\n"; !strings.Contains(got, line) {
				t.Errorf("%s help does not tell of %s: %q", top.name, sub.name, got)
			}
		}
		stranger := c.NewSession()
		stranger.enter(nil)
		if got := do(stranger, top.name+" help\r\n"); got != noAuth {
			t.Errorf("%s help before AUTH: %q", top.name, got)
		}
	}
}

type held struct{ keys int64 }

func (h held) Entries() int64 { return h.keys }
func (h held) EntryBytes(key proxy.Key) (int, bool) {
	return len(key.Text), string(key.Text) == "key:a"
}
func (h held) Used() (used, bound int64) { return 5, 10 }

func TestWhatIsHeld(t *testing.T) {
	s := newFake()
	reads := func() (hits, misses uint64) { return 3, 4 }
	session := New(catalog(t), s, s, Options{Memory: held{7}, Reads: reads, Settings: [][2]string{{"maxmemory", "10"}}}).NewSession()
	for in, want := range map[string]string{
		"DBSIZE":               ":7\r\n",
		"MEMORY USAGE key:a":   ":5\r\n",
		"MEMORY USAGE key:b":   "$-1\r\n",
		"INFO keyspace":        "$44\r\n# Keyspace\r\ndb0:keys=7,expires=0,avg_ttl=0\r\n\r\n",
		"CONFIG GET maxmemory": "*2\r\n$9\r\nmaxmemory\r\n$2\r\n10\r\n",
	} {
		if got := do(session, in+"\r\n"); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
	if got := do(session, "INFO stats\r\n"); !strings.Contains(got, "\r\nkeyspace_hits:3\r\nkeyspace_misses:4\r\n") {
		t.Errorf("INFO stats: %q", got)
	}
	if got := do(session, "INFO memory\r\n"); !strings.Contains(got, "used_memory:5\r\nmaxmemory:10\r\n") {
		t.Errorf("INFO memory: %q", got)
	}
}

// What is not offered is refused with a reason, and to strangers with nothing.
func TestNotOffered(t *testing.T) {
	s := newFake()
	c := New(catalog(t), s, s, Options{})
	for _, name := range []string{"INCR", "EVAL", "SUBSCRIBE", "MONITOR", "KEYS", "FLUSHALL", "RENAME", "SLOWLOG", "DEBUG"} {
		if got := do(c.NewSession(), name+" x\r\n"); !strings.HasPrefix(got, "-ERR ") || strings.Contains(got, "unknown command") {
			t.Errorf("%s: %q", name, got)
		}
		if cmd := c.lookup([]byte(name)); cmd != nil {
			t.Errorf("%s is in the table", name)
		}
		stranger := c.NewSession()
		stranger.enter(nil)
		if got := do(stranger, name+" x\r\n"); got != "-NOAUTH Authentication required.\r\n" {
			t.Errorf("%s before AUTH: %q", name, got)
		}
	}
}
