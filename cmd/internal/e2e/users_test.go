package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
)

// withUsers gives a stack the users of a configuration.
func (s *shop) withUsers(users string) {
	s.t.Helper()
	text := "source: {sqlite: {path: x.db}}\nuse_cases: [{name: users, table: t}, {name: key, table: t}]\nusers:\n" + users
	c, err := config.Parse("f.yaml", []byte(text), func(name string) (string, bool) { return "secret of " + name, true })
	if err != nil {
		s.t.Fatal(err)
	}
	s.config.Users = c.Users
}

// Who somebody is decides what a node does for them, from the socket down to
// the row, and what it says of that is counted.
func TestUsers(t *testing.T) {
	hash, err := node.HashPassword([]byte("sesame"))
	if err != nil {
		t.Fatal(err)
	}
	key := mapped("key", "kv", time.Hour)
	key.Column = "value"
	s := newStack(t, mapped("users", "users", time.Hour), key)
	s.withUsers(`  - {name: shop, password: "${SHOP}", rights: {read: [users], write: ["k*"]}}
  - {name: default, password: "` + hash + `", rights: {admin: ["*"]}}
`)
	s.config.Node.BeforeAuth.Timeout = config.Duration(time.Hour) // a busy machine is slow to say that a password is wrong
	n, stranger := s.start()
	refused := func(c *client, word string, args ...string) {
		t.Helper()
		if reply, err := c.Do(args...); err == nil || !strings.HasPrefix(err.Error(), word) {
			t.Errorf("%v: %q, %v; want %s", args, reply, err, word)
		}
	}
	refused(stranger, "NOAUTH", "GET", "users:1")
	refused(stranger, "WRONGPASS", "AUTH", "shop", "sesame")
	refused(stranger, "WRONGPASS", "AUTH", "nobody", "sesame")
	refused(stranger, "NOAUTH", "GET", "users:1")

	shop := s.client(n.Address())
	shop.do("AUTH", "shop", "secret of SHOP")
	if got := shop.do("HGET", "users:1", "credit"); got != "37" {
		t.Errorf("credit = %s", got)
	}
	if got := shop.do("SET", "key:mine", "1") + shop.do("GET", "key:mine"); got != "OK1" {
		t.Errorf("written and read: %s", got)
	}
	refused(shop, "NOPERM", "DEL", "users:1")
	refused(shop, "NOPERM", "DEL", "key:mine", "users:1")
	refused(shop, "NOPERM", "FRESHET.INVALIDATE", "key:mine")
	if got := shop.do("GET", "key:mine"); got != "1" {
		t.Errorf("a command that was refused has deleted: %s", got)
	}

	operator := s.client(n.Address())
	operator.do("AUTH", "sesame")
	operator.do("FRESHET.INVALIDATE", "USECASE", "users")
	if got := operator.do("DEL", "key:mine"); got != "1" {
		t.Errorf("deleted: %s", got)
	}
	operator.do("RESET")
	refused(operator, "NOAUTH", "GET", "key:mine")

	for outcome, want := range map[string]float64{"accepted": 2, "refused": 2, "shed": 0} {
		if got := s.metric(n, "freshet_logins_total", `outcome="`+outcome+`"`); got != want {
			t.Errorf("%v logins were %s by the counter", got, outcome)
		}
	}
}
