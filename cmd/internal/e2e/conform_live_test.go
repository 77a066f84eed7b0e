package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/conform"
	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
	"github.com/freshet-cache/freshet/cmd/internal/conform/live"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// provable is a tier that serves others, and has the table of a run mapped as
// is printed for that.
func provable(t *testing.T) *shop {
	t.Helper()
	c, err := config.Parse("f.yaml", []byte("source: {sqlite: {path: x.db}}\n"+live.UseCases()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.UseCases {
		c.UseCases[i].Timeout = config.Duration(patience) // a machine that is busy with other tests is slow, not away
	}
	s := newStack(t, append(c.UseCases, mapped("users", "users", time.Hour))...)
	setup, err := live.Setup(s.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Script(t.Context(), s.config.Source.SQLite.Path, table.Script(setup)); err != nil {
		t.Fatal(err)
	}
	return s
}

// proof is the configuration of a run against nodes, as a file.
func (s *shop) proof(more string, nodes ...*node.Node) *config.Config {
	s.t.Helper()
	text := fmt.Sprintf("source: {sqlite: {path: %q}}\n%sconform:\n%s  nodes:\n", s.config.Source.SQLite.Path, live.UseCases(), more)
	for i, n := range nodes {
		text += fmt.Sprintf("    - {name: %q, listen: %q, admin: %q}\n", string(rune('a'+i)), n.Address(), n.Admin())
	}
	path := filepath.Join(s.t.TempDir(), "f.yaml")
	for path, text := range map[string]string{path: text, filepath.Join(filepath.Dir(path), "password"): "sesame"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	c, err := config.LoadConform(path)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// prove makes a run.
func (s *shop) prove(ctx context.Context, c *config.Config, out string, d time.Duration) (*check.Verdict, error) {
	return conform.Live(ctx, conform.Options{Command: "a run", Seed: 1, Duration: d, Out: out, Log: s.log()}, c)
}

// asItWas fails the test if a run has left anything in the database.
func (s *shop) asItWas() {
	s.t.Helper()
	got := s.sql("SELECT group_concat(name, ' ' ORDER BY name) FROM sqlite_schema WHERE name LIKE 'freshet_conform%' AND sql IS NOT NULL")
	if rows := s.sql("SELECT count(*) FROM " + table.Rows); !strings.HasSuffix(strings.TrimSpace(got), "\n"+table.Rows) || !strings.HasSuffix(rows, "\n0\n") {
		s.t.Errorf("left behind: %s with %s", got, rows)
	}
}

// A run against nodes that were there before leaves all as it was, and says
// what it could not check.
func TestConformLive(t *testing.T) {
	s := provable(t)
	one, _ := s.start()
	two := s.node()
	s.await(two)
	mark := filepath.Join(t.TempDir(), "mark")
	c := s.proof(fmt.Sprintf(`  rows: 500
  readers: 2
  faults: [{name: nothing, target: a, begin: 'echo "$FRESHET_FAULT $FRESHET_TARGET" > %s', end: "echo over >> %s", for: 200ms}]
`, mark, mark), one, two)
	out := t.TempDir()
	for range 2 { // what a node has counted before is not the second run's
		v, err := s.prove(t.Context(), c, out, 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if v.Result == check.Violated || v.Reads.All == 0 || v.Reads.Answered == 0 || len(v.Unchecked) == 0 {
			t.Errorf("%s: %+v, not checked: %q, %+v", v.Result, v.Reads, v.Unchecked, v.Violations)
		}
		if v.Checks[check.C9].Judged == 0 || v.Checks[check.C2].Judged == 0 {
			t.Errorf("judged: %+v", v.Checks)
		}
		s.asItWas()
	}
	if said, err := os.ReadFile(mark); err != nil || string(said) != "nothing a\nover\n" {
		t.Errorf("the fault's commands: %q, %v", said, err)
	}
	left, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(left) != 4 { // history, reports, what faults said
		t.Errorf("written: %v, %v", left, err)
	}
	_, err = s.prove(interruptedAfter(t, filepath.Join(out, "faults.log")), s.proof(`  faults: [{name: one, begin: "true", end: "echo made good", for: 10m}]
`, one, two), out, 8*time.Second)
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("interrupted: %v", err)
	}
	if said, err := os.ReadFile(filepath.Join(out, "faults.log")); err != nil || !strings.HasSuffix(string(said), "made good\n") {
		t.Errorf("of the fault that was interrupted: %q, %v", said, err)
	}
	s.asItWas()
}

// interruptedAfter ends once a file is written to anew.
func interruptedAfter(t *testing.T, path string) context.Context {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(path); err == nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return ctx
}

// What keeps a run from being made is told before anything is touched, or with
// everything made good, and with what to do.
func TestConformLiveRefuses(t *testing.T) {
	s := provable(t)
	const users = `users:
  - {name: prover, password: "${PASSWORD}", rights: {write: ["*"]}}
  - {name: reader, password: "${PASSWORD}", rights: {read: ["*"]}}
  - {name: stranger, password: "${PASSWORD}"}
`
	hash, err := bcrypt.GenerateFromPassword([]byte("sesame"), bcrypt.MinCost) // a busy machine is slow with any other
	if err != nil {
		t.Fatal(err)
	}
	with, err := config.Parse("f.yaml", []byte("source: {sqlite: {path: x.db}}\n"+live.UseCases()+users), func(string) (string, bool) { return string(hash), true })
	if err != nil {
		t.Fatal(err)
	}
	s.config.Users = with.Users
	t.Cleanup(s.broker().Close)
	s.relay()
	n := s.node()
	s.await(n)
	own := *s.config
	s.config.UseCases = s.config.UseCases[len(s.config.UseCases)-1:]
	without := s.node()
	s.config.UseCases = append([]config.UseCase(nil), own.UseCases...)
	s.config.UseCases[1].Bound++
	otherwise := s.node()
	*s.config = own
	s.await(without)
	s.await(otherwise)

	as := func(user string) string { return "  user: " + user + "\n  password: file:password\n" }
	out := t.TempDir()
	refused := func(name string, c *config.Config, words ...string) {
		t.Helper()
		v, err := s.prove(t.Context(), c, out, 3*time.Second)
		for _, want := range words {
			if v != nil || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, and not: %s", name, err, want)
			}
		}
		s.asItWas()
	}
	change := func(c *config.Config, f func(*config.Config)) *config.Config {
		f(c)
		return c
	}
	refused("no password", s.proof("", n), "node a: it has users: give conform.user and conform.password")
	refused("another's password", s.proof(as("prove"), n), `it does not let user "prove" in: WRONGPASS`, "correct conform.user or conform.password")
	refused("no rights", s.proof(as("stranger"), n), "NOPERM", "the rights to read and write use case conform-row")
	refused("no right to write", s.proof(as("reader"), n), "it does not write conform-value:8000: NOPERM", "the right to write use case conform-value")
	refused("no use case", s.proof(as("prover"), n, without), "node b: it has no use case conform-row: give it that of the configuration")
	refused("another bound", s.proof(as("prover"), n, otherwise), "node b: its use case conform-value has a bound of 250.000001ms, and the configuration says 250ms")
	refused("no nodes", change(s.proof(as("prover"), n), func(c *config.Config) { c.Conform.Nodes = nil }), "name every node")
	refused("no table mapped", change(s.proof(as("prover"), n), func(c *config.Config) { c.UseCases = nil }), "--print-use-cases", "--print-sql")
	refused("no node", change(s.proof(as("prover"), n, n), func(c *config.Config) { c.Conform.Nodes[1].Listen = nobody }), "node b: it does not answer", "start it, or correct conform.nodes[].listen")
	refused("no admin port", change(s.proof(as("prover"), n), func(c *config.Config) { c.Conform.Nodes[0].Admin = nobody }), "its admin port does not answer", "start the node, or correct conform.nodes[].admin")
	refused("another's admin port", change(s.proof(as("prover"), n), func(c *config.Config) { c.Conform.Nodes[0].Admin = another(t, n, `{version="`, `{rope="`) }), "is no admin port of a node")
	refused("another version", change(s.proof(as("prover"), n, n), func(c *config.Config) { c.Conform.Nodes[1].Admin = another(t, n, `{version="`, `{version="0.`) }), "the nodes are of several versions: 0.", "on b")
	refused("no database", change(s.proof(as("prover"), n), func(c *config.Config) { c.Source.SQLite.Path += ".not" }), "the database: open", "create the database, or correct its path")

	s.sql("INSERT INTO " + table.Rows + " VALUES (1, 'a', 1, 'b')")
	_, err = s.prove(t.Context(), s.proof(as("prover"), n), out, time.Second)
	if rows := s.sql("SELECT count(*) FROM " + table.Rows); err == nil || !strings.Contains(err.Error(), "is not empty") || !strings.HasSuffix(rows, "\n1\n") {
		t.Errorf("a row that is there: %v, afterwards %s", err, rows)
	}
	s.sql("DELETE FROM " + table.Rows)

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out = filepath.Join(file, "out")
	refused("no folder", s.proof(as("prover"), n), "name another folder with --out")
	if _, err := os.Stat("/dev/full"); err == nil {
		out = t.TempDir()
		if err := os.Symlink("/dev/full", filepath.Join(out, "history.jsonl")); err != nil {
			t.Fatal(err)
		}
		refused("a full disk", s.proof(as("prover"), n), "write the history: the disk is full", "name another folder with --out")
	}
}

// another is an admin port that says what n's does, but for one word.
func another(t *testing.T, n *node.Node, word, instead string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res, err := http.Get("http://" + n.Admin() + r.URL.Path)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err == nil {
			_, _ = io.WriteString(w, strings.Replace(string(body), word, instead, 1))
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return strings.TrimPrefix(server.URL, "http://")
}

// A node that stands on another database is found out, and the database is as
// it was.
func TestConformLiveFindsAnotherTier(t *testing.T) {
	s, elsewhere := provable(t), provable(t)
	one, _ := s.start()
	other, _ := elsewhere.start()
	_, err := s.prove(t.Context(), s.proof("", one, other), t.TempDir(), time.Second)
	if err == nil || !strings.Contains(err.Error(), "node b: it answers conform-row:8000 with \"\", where the database of the configuration says \"8000.") {
		t.Errorf("another database: %v", err)
	}
	s.asItWas()
}

// What the page says of a run is a configuration.
func TestConformPageConfigures(t *testing.T) {
	page, err := os.ReadFile("../../../testdata/conformance/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	section, _, found := strings.Cut(rest, "```")
	c, err := config.Parse("f.yaml", []byte("source: {postgres: {url: \"${URL}\"}}\n"+live.UseCases()+section), func(string) (string, bool) { return "x", true })
	if !found || err != nil || len(c.Conform.Nodes) != 2 || len(c.Conform.Faults) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Whenever a run is interrupted, the database is as it was: at later and later
// moments, until one has ended before.
func TestConformLiveInterrupted(t *testing.T) {
	s := provable(t)
	n, _ := s.start()
	c := s.proof("  rows: 500\n  writers: 2\n  readers: 1\n", n)
	out := t.TempDir()
	for at := time.Millisecond; ; at = at * 8 / 5 {
		ctx, cancel := context.WithTimeout(t.Context(), at)
		v, err := s.prove(ctx, c, out, time.Second)
		cancel()
		s.asItWas()
		if err == nil {
			if v.Reads.Answered == 0 {
				t.Errorf("a whole run read nothing: %+v", v.Reads)
			}
			return
		}
		if v != nil {
			t.Errorf("interrupted after %v, with a verdict: %v", at, err)
		}
		if left, err := filepath.Glob(filepath.Join(out, "freshet-scratch-*")); err != nil || len(left) > 0 {
			t.Errorf("interrupted after %v, left behind: %v, %v", at, left, err)
		}
	}
}
