package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// statements returns the SQL of a page, one statement each: some of them go
// alone.
func statements(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		plain := regexp.MustCompile("--.*").ReplaceAllString(block[1], "")
		for statement := range strings.SplitSeq(plain, ";") {
			if statement = strings.TrimSpace(statement); statement != "" {
				out = append(out, statement)
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no SQL", page)
	}
	return out
}

// Who sets a server up as the pages say has done all that --check asks for.
func TestRealSetUpAsWritten(t *testing.T) {
	for _, test := range []struct{ page, node, relay string }{
		{"../../../README.md", "freshet", "freshet"},
		{"../../../testdata/postgres.md", "freshet_node", "freshet_relay"},
	} {
		t.Run(test.relay, func(t *testing.T) {
			p := stacktest.Postgres(t, stack.PG15)
			stacktest.Exec(t, p, "CREATE TABLE users (id int PRIMARY KEY, name text)", "CREATE TABLE orders (id int PRIMARY KEY, what text)")
			stacktest.Exec(t, p, statements(t, test.page)...)
			text := "source: {postgres: {url: \"${URL}\"}}\nuse_cases: [{name: users, table: users}]\n"
			if err := node.Check(t.Context(), parse(t, text, map[string]string{"URL": p.URL(test.node, "")})); err != nil {
				t.Errorf("a node says: %v", err)
			}
			if err := node.CheckRelay(t.Context(), parse(t, text, map[string]string{"URL": p.URL(test.relay, "")})); err != nil {
				t.Errorf("a relay says: %v", err)
			}
		})
	}
}
