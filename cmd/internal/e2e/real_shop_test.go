package e2e

import (
	"fmt"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// newRealShop is newStack over a real database and broker, with the parts of
// freshet in this process. settings are of the top level; ${URL} is the
// primary, and ${STANDBY} a standby, if there is one.
func newRealShop(t *testing.T, p *stack.Postgres, k *stack.Kafka, settings string, standby ...*stack.Postgres) *shop {
	t.Helper()
	text := fmt.Sprintf(`
node: {listen: "%s", admin: "%s"}
stream: {kafka: {brokers: ["%s"], topic: changes}}
%s`, anyPort, anyPort, k.Address(), settings)
	secrets := map[string]string{"URL": p.URL("", "")}
	for _, s := range standby {
		secrets["STANDBY"] = s.URL("", "")
	}
	return &shop{t: t, dir: t.TempDir(), config: parse(t, text, secrets)}
}

// parse reads a configuration with these secrets. The relay has no admin port.
func parse(t *testing.T, text string, secrets map[string]string) *config.Config {
	t.Helper()
	c, err := config.Parse("real.yaml", []byte(text), func(name string) (string, bool) { v, ok := secrets[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	c.Relay.Admin = ""
	return c
}
