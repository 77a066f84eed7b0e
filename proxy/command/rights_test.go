package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
)

// rows calls yield with every command that can be called, by its full name.
func (c *Commands) everyRow(yield func(name string, cmd *command)) {
	for i := range c.rows {
		cmd := &c.rows[i]
		if cmd.run != nil {
			yield(cmd.name, cmd)
		}
		for j := range cmd.subs {
			yield(cmd.name+" "+cmd.subs[j].name, &cmd.subs[j])
		}
	}
}

// The column right agrees with what the other columns say.
func TestEveryRowSaysWhoMayCallIt(t *testing.T) {
	s := newFake()
	New(catalog(t), s, s, Options{}).everyRow(func(name string, cmd *command) {
		flag := func(f string) bool { return slices.Contains(strings.Fields(cmd.flags), f) }
		keys := cmd.keys != [3]int{}
		switch {
		case cmd.right == unset:
			t.Errorf("%s does not say who may call it", name)
		case keys && cmd.right < reader:
			t.Errorf("%s has keys, and no right is needed for them", name)
		case cmd.kind == reads && cmd.right != reader, cmd.kind == writes && cmd.right != writer:
			t.Errorf("%s: the right is not that of what it does", name)
		case flag("write") && cmd.right != writer, flag("admin") && cmd.right != admin:
			t.Errorf("%s has the flags %q and another right", name, cmd.flags)
		case flag("no_auth") != (cmd.right == anyone):
			t.Errorf("%s: flags and right do not agree on who may call it before AUTH", name)
		}
	})
}

// request is a request of a command with keys, with text for each of them.
func (cmd *command) request(name, key string) []string {
	words := strings.Fields(name)
	n := max(cmd.arity, -cmd.arity)
	if cmd.keys[1] < 0 {
		n = max(n, 1+cmd.keys[0]+2*cmd.keys[2]-1)
	}
	for len(words) < n {
		words = append(words, "x")
	}
	last := cmd.keys[1]
	if last < 0 {
		last += len(words)
	}
	for i := cmd.keys[0]; i <= last; i += cmd.keys[2] {
		words[i] = key
	}
	return words
}

const noKey = "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n"

// Whatever a command does with its keys, it does nothing for a user without
// the right to them, and tells nothing about them.
func TestEveryCommandAsksForTheRightToItsKeys(t *testing.T) {
	s := newFake()
	c := New(catalog(t), s, s, Options{})
	c.everyRow(func(name string, cmd *command) {
		if cmd.keys == [3]int{} {
			return
		}
		for _, key := range []string{"users:42", "users:0x", "users", "nobody:1", ""} {
			session := c.NewSession()
			session.rights = &proxy.Rights{ByUseCase: make([]proxy.Right, 3)}
			if got := do(session, multibulk(cmd.request(name, key)...)); got != noKey {
				t.Errorf("%q: %q", cmd.request(name, key), got)
			}
		}
	})
	if len(s.log) > 0 {
		t.Errorf("the source was asked %q", s.log)
	}
}

// A command of several keys is refused as a whole for one of them.
func TestOneKeyWithoutRightRefusesTheCommand(t *testing.T) {
	s := newFake()
	c := New(catalog(t), s, s, Options{})
	session := c.NewSession()
	rights := proxy.AllRights(c.catalog)
	rights.ByUseCase[c.catalog.Named("column").ID] = proxy.MayNothing
	rights.ByUseCase[c.catalog.Named("users").ID] = proxy.MayRead
	session.rights = rights
	for in, want := range map[string]string{
		"MGET key:a column:null key:b":         noKey,
		"EXISTS key:a column:null":             noKey,
		"DEL key:a users:42":                   noKey,
		"FRESHET.INVALIDATE USECASE users":     noKey,
		"GET users:42x":                        "-ERR bad key: part 1 (id): \"42x\" is not an integer in its shortest decimal form\r\n",
		"FRESHET.INVALIDATE USECASE nobody":    "-ERR no such use case: a key is spelled usecase:part\r\n",
		"SET users:42x y":                      noKey,
		"FRESHET.INVALIDATE USECASE \"key\" x": "-ERR syntax error\r\n",
	} {
		if got := do(session, in+"\r\n"); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
	if len(s.log) > 0 {
		t.Errorf("the source was asked %q", s.log)
	}
	if got := do(session, "EXISTS key:a users:42\r\n"); got != ":1\r\n" {
		t.Errorf("what may be read is not: %q", got)
	}
}
