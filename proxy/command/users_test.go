package command

import (
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
)

// users is Users over a map from "name password".
type users map[string]*proxy.Rights

func (u users) Login(name, password []byte) (*proxy.Rights, error) {
	if string(password) == "busy" {
		return nil, proxy.ErrShed
	}
	if r := u[string(name)+" "+string(password)]; r != nil {
		return r, nil
	}
	return nil, proxy.ErrWrongPassword
}

// someUsers are default, who may everything, and ann, who may read users and
// write key.
func someUsers(t testing.TB) users {
	c := catalog(t)
	ann := &proxy.Rights{ByUseCase: make([]proxy.Right, len(c.All()))}
	ann.ByUseCase[c.Named("users").ID] = proxy.MayRead
	ann.ByUseCase[c.Named("key").ID] = proxy.MayWrite
	return users{"default secret": proxy.AllRights(c), "ann pw": ann}
}

const (
	noAuth    = "-NOAUTH Authentication required.\r\n"
	helloAuth = "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time\r\n"
	wrongPass = "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
)

// What a Redis with the same users answers, in order on one connection each.
func TestWhoIsWho(t *testing.T) {
	for name, lines := range map[string][][2]string{
		"before AUTH": {
			{"GET a", noAuth},
			{"NOBODY", "-ERR unknown command 'NOBODY', with args beginning with: \r\n"},
			{"GET", "-ERR wrong number of arguments for 'get' command\r\n"},
			{"PING", noAuth}, {"COMMAND", noAuth}, {"COMMAND DOCS", noAuth}, {"INFO", noAuth}, {"FRESHET.TOKEN", noAuth},
			{"CLIENT", "-ERR wrong number of arguments for 'client' command\r\n"},
			{"CLIENT X", "-ERR unknown subcommand 'X'. Try CLIENT HELP.\r\n"},
			{"CLIENT GETNAME", noAuth},
			{"AUTH", "-ERR wrong number of arguments for 'auth' command\r\n"},
			{"AUTH a b c", "-ERR syntax error\r\n"},
			{"AUTH x", wrongPass}, {"AUTH bob x", wrongPass}, {"AUTH ann x", wrongPass}, {"AUTH ann \"\"", wrongPass},
			{"AUTH ann busy", "-ERR too many at once: try again\r\n"},
			{"HELLO", helloAuth}, {"HELLO 3", helloAuth}, {"HELLO 3 SETNAME x", helloAuth},
			{"HELLO 4", "-NOPROTO unsupported protocol version\r\n"},
			{"HELLO 3 AUTH ann x SETNAME y", wrongPass},
			{"HELLO 3 AUTH ann", "-ERR Syntax error in HELLO option 'AUTH'\r\n"},
			{"MULTI", noAuth}, {"EXEC", noAuth},
			{"RESET", "+RESET\r\n"}, {"GET key:a", noAuth},
			{"QUIT", "+OK\r\n"},
		},
		"AUTH, and back": {
			{"AUTH ann pw", "+OK\r\n"}, {"GET users:1", "$-1\r\n"}, {"SET users:1 x", noKey}, {"GET column:a", noKey},
			{"AUTH ann x", wrongPass}, {"GET users:1", "$-1\r\n"},
			{"AUTH secret", "+OK\r\n"}, {"GET column:a", "$-1\r\n"},
			{"AUTH ann pw", "+OK\r\n"}, {"GET column:a", noKey},
			{"RESET", "+RESET\r\n"}, {"GET users:1", noAuth},
		},
		"HELLO is all or nothing": {
			{"HELLO 2 AUTH ann pw SETNAME \"a b\"", "-ERR Client names cannot contain spaces, newlines or special characters.\r\n"},
			{"PING", noAuth},
			{"HELLO 3 AUTH ann pw NOTHING", "-ERR Syntax error in HELLO option 'NOTHING'\r\n"},
			{"PING", noAuth},
			{"HELLO 3 SETNAME me AUTH ann x", wrongPass},
			{"AUTH ann pw", "+OK\r\n"},
			{"CLIENT GETNAME", "$-1\r\n"},
			{"HELLO 3 SETNAME me AUTH default x", wrongPass},
			{"CLIENT GETNAME", "$-1\r\n"}, // RESP2 still
			{"GET column:a", noKey},
		},
		"transactions": {
			{"AUTH ann pw", "+OK\r\n"}, {"MULTI", "+OK\r\n"},
			{"GET column:a", "-ERR transactions are not offered: the command is not carried out\r\n"},
			{"AUTH default secret", "-ERR transactions are not offered: the command is not carried out\r\n"},
			{"RESET", "+RESET\r\n"}, {"EXEC", noAuth}, {"GET column:a", noAuth},
		},
		"admin": {
			{"AUTH ann pw", "+OK\r\n"}, {"FRESHET.LAG", "-NOPERM this user has no permissions to run the 'freshet.lag' command\r\n"},
			{"CLIENT LIST", "-NOPERM this user has no permissions to run the 'client|list' command\r\n"},
			{"FRESHET.INVALIDATE key:a", noKey}, {"FRESHET.INVALIDATE USECASE key", noKey},
			{"FRESHET.EXPLAIN column:a", noKey}, {"GET nobody:1", noKey}, {"GET column", noKey}, {"GET column:a%?nothing", noKey},
			{"AUTH secret", "+OK\r\n"}, {"FRESHET.LAG", "*2\r\n$9\r\nwatermark\r\n$5\r\nnever\r\n"},
		},
	} {
		s := newFake()
		session := New(catalog(t), s, s, Options{Users: someUsers(t)}).NewSession()
		for _, line := range lines {
			if got := do(session, line[0]+"\r\n"); got != line[1] {
				t.Errorf("%s: %s: got %q, want %q", name, line[0], got, line[1])
			}
		}
		for _, asked := range s.log {
			if strings.Contains(asked, "column:a") && name != "AUTH, and back" || strings.HasPrefix(asked, "apply") {
				t.Errorf("%s: the source was asked %q", name, asked)
			}
		}
	}
}

// Each request of a pipeline is answered to who its connection is by then.
func TestAUTHInAPipeline(t *testing.T) {
	s := newFake()
	session := New(catalog(t), s, s, Options{Users: someUsers(t)}).NewSession()
	in := "GET key:a\nAUTH ann pw\nGET key:a\nGET column:a\nAUTH default secret\nGET column:a\nRESET\nGET column:a\n"
	want := noAuth + "+OK\r\n$-1\r\n" + noKey + "+OK\r\n$-1\r\n+RESET\r\n" + noAuth
	if got := do(session, in); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Who has not said who they are is held to small requests, and again after
// RESET.
func TestLimitsBeforeAUTH(t *testing.T) {
	s := newFake()
	long := strings.Repeat("x", 17<<10)
	const tooLong = "-ERR Protocol error: unauthenticated bulk length\r\n"
	for in, want := range map[string]string{
		multibulk("AUTH", "ann", long):                                                                   tooLong,
		multibulk("AUTH", "ann", "pw") + multibulk("SET", "key:a", long):                                 "+OK\r\n+OK\r\n",
		multibulk("HELLO", "2", "AUTH", "ann", "pw") + multibulk("RESET") + multibulk("AUTH", "x", long): tooLong,
	} {
		got := do(New(catalog(t), s, s, Options{Users: someUsers(t)}).NewSession(), in)
		if !strings.HasSuffix(got, want) {
			t.Errorf("%.60q: got %q, want %q", in, got, want)
		}
	}
	if got := do(newSession(t, s), multibulk("SET", "key:a", long)); got != "+OK\r\n" {
		t.Errorf("where nobody need say who they are: %q", got)
	}
}
