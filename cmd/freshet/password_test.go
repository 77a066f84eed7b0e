package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/acl"
)

// What is printed is a hash that a configuration takes, of the first line
// without its end.
func TestHashesAPassword(t *testing.T) {
	catalog, err := proxy.NewCatalog()
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{"open sesame", "open sesame\n", "open sesame\r\nnot this\n"} {
		var out bytes.Buffer
		if err := hashFirstLine(strings.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		users, err := acl.New(catalog, []acl.User{{Name: "a", Password: strings.TrimSuffix(out.String(), "\n")}}, prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := users.Login([]byte("a"), []byte("open sesame")); err != nil {
			t.Errorf("%q: %s is not its hash: %v", in, out.String(), err)
		}
	}
	for _, in := range []string{"", "\n", "\nx"} {
		if err := hashFirstLine(strings.NewReader(in), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "standard input") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// Nothing listens where others can reach it, unless there are users or it is
// told to.
func TestListensToNobodyElse(t *testing.T) {
	file := configuration(t, "node: {listen: \"0.0.0.0:0\"}", "source: {sqlite: {path: absent.db}}", "use_cases: [{name: u, table: t}]")
	if code, _, stderr := called(t, "serve", "--config", file); code != 1 || !strings.Contains(stderr, "node.insecure: true") {
		t.Errorf("serve: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := called(t, "dev", "--listen", "0.0.0.0:0", "--admin", "127.0.0.1:0", "--kafka", "127.0.0.1:0"); code != 2 || !strings.Contains(stderr, "--insecure") {
		t.Errorf("dev: exit code %d, %s", code, stderr)
	}
}
