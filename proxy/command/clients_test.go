package command

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// wire is a Carrier that only remembers.
type wire struct {
	remote string
	killed bool
}

func (w *wire) Addresses() (remote, local string) { return w.remote, "10.0.0.1:6400" }
func (w *wire) Idle() time.Duration               { return 3 * time.Second }
func (w *wire) Kill()                             { w.killed = true }

// party is some connections of one node.
func party(t *testing.T, n int) (sessions []*Session, wires []*wire) {
	c := New(catalog(t), newFake(), nil, Options{})
	for i := range n {
		w := &wire{remote: fmt.Sprintf("10.0.0.%d:1", i+2)}
		s := c.NewSession()
		s.Attach(w)
		sessions, wires = append(sessions, s), append(wires, w)
	}
	return sessions, wires
}

func TestClientList(t *testing.T) {
	s, _ := party(t, 3)
	do(s[1], "CLIENT SETNAME two\nCLIENT SETINFO lib-name some\nHELLO 3\nGET key:a\n")
	do(s[2], "MULTI\nGET key:a\n")
	const (
		one   = "id=1 addr=10.0.0.2:1 laddr=10.0.0.1:6400 name= age=0 idle=3 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 cmd=client|list user=default redir=-1 resp=2 lib-name= lib-ver=\n"
		two   = "id=2 addr=10.0.0.3:1 laddr=10.0.0.1:6400 name=two age=0 idle=3 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 cmd=get user=default redir=-1 resp=3 lib-name=some lib-ver=\n"
		three = "id=3 addr=10.0.0.4:1 laddr=10.0.0.1:6400 name= age=0 idle=3 flags=N db=0 sub=0 psub=0 ssub=0 multi=0 cmd=multi user=default redir=-1 resp=2 lib-name= lib-ver=\n"
	)
	bulk := func(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }
	for _, c := range []struct{ in, want string }{
		{"CLIENT LIST", bulk(one + two + three)},
		{"CLIENT LIST ID 2 9", bulk(two)},
		{"CLIENT LIST TYPE normal", bulk(one + two + three)},
		{"CLIENT LIST TYPE pubsub", bulk("")},
		{"CLIENT LIST TYPE what", "-ERR Unknown client type 'what'\r\n"},
		{"CLIENT LIST ID x", "-ERR Invalid client ID\r\n"},
		{"CLIENT LIST ID", "-ERR syntax error\r\n"},
		{"CLIENT INFO", bulk(strings.Replace(one, "client|list", "client|info", 1))},
		{"INFO clients", bulk("# Clients\r\nconnected_clients:3\r\nblocked_clients:0\r\n")},
	} {
		if got := do(s[0], c.in+"\r\n"); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.in, got, c.want)
		}
	}
	s[1].End()
	if got := do(s[0], "CLIENT LIST ID 2\r\n"); got != bulk("") {
		t.Errorf("one that has ended: %q", got)
	}
}

func TestClientKill(t *testing.T) {
	for _, c := range []struct {
		in, want string
		killed   string
	}{
		{"CLIENT KILL 10.0.0.3:1", "+OK\r\n", "2"},
		{"CLIENT KILL 10.0.0.9:1", "-ERR No such client\r\n", ""},
		{"CLIENT KILL ID 2", ":1\r\n", "2"},
		{"CLIENT KILL ID 9", ":0\r\n", ""},
		{"CLIENT KILL ID 1", ":0\r\n", ""},
		{"CLIENT KILL ID 1 SKIPME no", ":1\r\n", "1"},
		{"CLIENT KILL TYPE normal", ":2\r\n", "23"},
		{"CLIENT KILL TYPE normal SKIPME no", ":3\r\n", "123"},
		{"CLIENT KILL USER default ADDR 10.0.0.4:1", ":1\r\n", "3"},
		{"CLIENT KILL USER nobody", ":0\r\n", ""},
		{"CLIENT KILL USER nobody TYPE normal", ":0\r\n", ""},
		{"CLIENT KILL LADDR 10.0.0.1:6400 TYPE pubsub", ":0\r\n", ""},
		{"CLIENT KILL ID 0", "-ERR client-id should be greater than 0\r\n", ""},
		{"CLIENT KILL ID x", "-ERR client-id should be greater than 0\r\n", ""},
		{"CLIENT KILL ID 1 SKIPME maybe", "-ERR syntax error\r\n", ""},
		{"CLIENT KILL ID 1 WHAT", "-ERR syntax error\r\n", ""},
		{"CLIENT KILL WHAT 1", "-ERR syntax error\r\n", ""},
	} {
		s, wires := party(t, 3)
		got, end := drive(s[0], c.in+"\r\n", 100)
		killed := ""
		if end == Close {
			killed = "1"
		}
		for i, w := range wires {
			if w.killed {
				killed += fmt.Sprint(i + 1)
			}
		}
		if got != c.want || killed != c.killed {
			t.Errorf("%s: got %q, killed %q; want %q, %q", c.in, got, killed, c.want, c.killed)
		}
	}
}

// One connection is described while it is busy.
func TestClientListBesideBusyClients(t *testing.T) {
	s, _ := party(t, 2)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			do(s[1], fmt.Sprintf("CLIENT SETNAME name%d\nPING\nHELLO %d\nMULTI\nEXEC\nCLIENT SETINFO LIB-VER %d\nECHO a\n", i, 2+i%2, i))
		}
		s[1].End()
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		do(s[0], "CLIENT LIST\nCLIENT KILL USER nobody\nINFO clients\n")
	}
}

func TestClientReply(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"CLIENT REPLY SKIP\nPING\nECHO a\n", "$1\r\na\r\n"},
		{"CLIENT REPLY SKIP\nCLIENT REPLY SKIP\nPING\nECHO a\n", "$1\r\na\r\n"},
		{"PING\nCLIENT REPLY OFF\nPING\nGET key:a\nNOBODY\nCLIENT REPLY SKIP\nPING\nCLIENT REPLY ON\nPING\n", "+PONG\r\n+OK\r\n+PONG\r\n"},
		{"CLIENT REPLY SKIP\nGET key:a\nGET key:a\n", "$-1\r\n"},
		{"GET key:a\nCLIENT REPLY SKIP\nMGET key:a users:42\nSET key:a 1\nGET key:a\n", "$-1\r\n+OK\r\n$1\r\n1\r\n"},
		{"CLIENT REPLY WHAT\n", "-ERR syntax error\r\n"},
		{"CLIENT REPLY OFF\nRESET\nPING\n", "+RESET\r\n+PONG\r\n"},
		{"CLIENT REPLY OFF\n*x\r\n", ""},
		{"CLIENT REPLY OFF\nQUIT\n", ""},
	} {
		for _, size := range []int{1, len(c.in)} {
			if got, _ := drive(newSession(t, newFake()), c.in, size); got != c.want {
				t.Errorf("%q by %d: got %q, want %q", c.in, size, got, c.want)
			}
		}
	}
	// A reply that fills Replies many times over is left out as a whole.
	s := newFake()
	s.rows["key:a"] = encode(value, strings.Repeat("x", 1000))
	session := New(catalog(t), s, s, Options{FlushBytes: 1500}).NewSession()
	if got := do(session, "CLIENT REPLY SKIP\nMGET"+strings.Repeat(" key:a", 20)+"\nPING\n"); got != "+PONG\r\n" {
		t.Errorf("got %q", got)
	}
}
