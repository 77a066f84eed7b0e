package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// provableTier is a relay and two nodes of a role that owns nothing, for all
// that freshet conform --config is to be tried on.
type provableTier struct {
	*tier
	second      *tier  // the other node
	file        string // of the run
	out         string // its folder
	environment []string
}

func newProvableTier(t *testing.T, p *stack.Postgres, k *stack.Kafka) *provableTier {
	t.Helper()
	stacktest.Exec(t, p, "CREATE ROLE nodes LOGIN", "CREATE ROLE prover LOGIN PASSWORD 'sesame'", "CREATE PUBLICATION freshet WITH (publish_via_partition_root = true)")
	dir := t.TempDir()
	pt := &provableTier{
		file: filepath.Join(dir, "conform.yaml"), out: filepath.Join(dir, "out"),
		environment: []string{"NODES=" + p.URL("nodes", ""), "PROVER=" + p.URL("prover", "")},
	}
	// What is printed is what is configured, and carried out.
	const asked = "source: {postgres: {url: \"${NODES}\"}}\nconform: {database: \"${PROVER}\"}\nuse_cases: [{name: any, table: any}]\n"
	if err := os.WriteFile(pt.file, []byte(asked), 0o600); err != nil {
		t.Fatal(err)
	}
	_, useCases, _ := pt.prove(t, "--print-use-cases")
	_, useCases, _ = strings.Cut(useCases, "use_cases:\n")
	_, setup, _ := pt.prove(t, "--print-sql")
	for statement := range strings.SplitSeq(strings.TrimSpace(setup), ";") {
		if statement != "" {
			stacktest.Exec(t, p, statement)
		}
	}
	pt.tier, pt.second = newTier(t, p, k, useCases), newTier(t, p, k, useCases)
	pt.connect(p.URL("nodes", ""))
	pt.second.connect(p.URL("nodes", ""))
	relay := newTier(t, p, k, useCases)
	relay.begin(relay.relay)
	for _, n := range []*tier{pt.tier, pt.second} {
		n.begin(n.node)
		n.well()
	}
	text := fmt.Sprintf(`source: {postgres: {url: "${NODES}"}}
stream: {kafka: {brokers: [%q], topic: changes}}
use_cases:
%sconform:
  database: ${PROVER}
  nodes:
    - {name: one, listen: %q, admin: %q}
    - {name: two, listen: %q, admin: %q}
  faults:
    - {name: freeze, target: two, begin: kill -STOP %d, end: kill -CONT %[7]d}
`, k.Address(), useCases, pt.listen, pt.admin, pt.second.listen, pt.second.admin, pt.second.node.PID())
	if err := os.WriteFile(pt.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return pt
}

// command is freshet conform --config.
func (pt *provableTier) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"conform", "--config", pt.file, "--out", pt.out, "--seed", "1"}, args...)...)
	cmd.Env = append(os.Environ(), pt.environment...)
	return cmd
}

// prove makes a run, and returns its exit code and what it printed.
func (pt *provableTier) prove(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := pt.command(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// asItWas fails the test if a run has left anything.
func (pt *provableTier) asItWas(t *testing.T) {
	t.Helper()
	got, err := pt.postgres.Query(t.Context(), named)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := pt.postgres.Query(t.Context(), "SELECT count(*) FROM "+table.Rows)
	if strings.Contains(got, table.Log) || rows != "0" || err != nil {
		t.Errorf("left behind: %s, with %s rows, %v", got, rows, err)
	}
}

// A run against a tier that was there before: with a fault that a command
// makes, with everything that keeps one from being made, interrupted, and with
// its database lost meanwhile.
func TestRealConformLive(t *testing.T) {
	p := stacktest.Postgres(t, stack.PG15)
	pt := newProvableTier(t, p, stacktest.Kafka(t, nil))
	pt.proves(t)
	pt.refuses(t, p)
	pt.leavesInPieces(t, p)
}

func (pt *provableTier) proves(t *testing.T) {
	code, stdout, stderr := pt.prove(t, "--duration", "9s")
	if code != 0 && code != 3 { // a machine that is busy proves too little
		t.Fatalf("exit code %d:\n%s%s", code, stdout, stderr)
	}
	for _, want := range []string{"not checked here: C9, in part", "faults: freeze\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("not told: %s:\n%s", want, stdout)
		}
	}
	data, err := os.ReadFile(filepath.Join(pt.out, "report.json"))
	var v check.Verdict
	if err = errors.Join(err, json.Unmarshal(data, &v)); err != nil {
		t.Fatal(err)
	}
	if !v.Run.Live || v.Checks[check.C9].Judged == 0 || v.Checks[check.C1].Judged == 0 || v.Writes["group"] == 0 || v.Writes["set"] == 0 {
		t.Errorf("%+v", v.Checks)
	}
	for _, mode := range []history.Mode{history.Plain, history.Many, history.MaxStale, history.Strong, history.Token, history.Session} {
		if v.Reads.ByMode[mode] == 0 {
			t.Errorf("no read was made by %q: %v", mode, v.Reads.ByMode)
		}
	}
	t.Logf("exit code %d, %d reads, %d hits, writes %v", code, v.Reads.All, v.Reads.Hits, v.Writes)
	pt.asItWas(t)
}

func (pt *provableTier) refuses(t *testing.T, p *stack.Postgres) {
	refused := func(name string, words ...string) {
		t.Helper()
		code, _, stderr := pt.prove(t, "--duration", "5s")
		for _, want := range words {
			if code != 1 || !strings.Contains(stderr, want) {
				t.Errorf("%s: exit code %d, %s, and not: %s", name, code, stderr, want)
			}
		}
		pt.asItWas(t)
	}
	for _, right := range []string{"UPDATE", "DELETE"} {
		stacktest.Exec(t, p, "REVOKE "+right+" ON "+table.Rows+" FROM nodes")
		refused("nodes that may not "+right, "node one: it does not write conform-value:8000", "permission denied", "the database's role of the nodes that to change "+table.Rows)
		stacktest.Exec(t, p, "GRANT "+right+" ON "+table.Rows+" TO nodes")
	}
	stacktest.Exec(t, p, "REVOKE CREATE ON SCHEMA public FROM prover")
	refused("nobody who may make a log", "the database: role prover may make no tables", "GRANT CREATE ON SCHEMA public TO prover")
	stacktest.Exec(t, p, "GRANT CREATE ON SCHEMA public TO prover")

	before := pt.environment
	pt.environment = append(pt.environment, "PROVER="+strings.Replace(p.URL("prover", ""), p.Address(), nobody, 1))
	refused("no database", "the database: ", "start the server, or correct its host and port")
	pt.environment = before

	if err := p.Put("pg_hba.conf", []byte("host all prover all scram-sha-256\nhost all all all trust\nhost replication all all trust\n")); err != nil {
		t.Fatal(err)
	}
	stacktest.Exec(t, p, "SELECT pg_reload_conf()")
	pt.environment = append(pt.environment, "PROVER="+strings.Replace(p.URL("prover", ""), "prover@", "prover:letmein@", 1))
	refused("a wrong password", "password authentication failed", "correct the user or the password")
	pt.environment = append(pt.environment, "PROVER="+strings.Replace(p.URL("prover", ""), "prover@", "prover:sesame@", 1))

	pt.kill(pt.kafka)
	eventually(t, "nodes miss Kafka", func() bool { return strings.HasPrefix(fetch(pt.admin, "/readyz"), "ready, degraded") })
	refused("no Kafka", "node one: its /readyz: ready, degraded; stream: ", "mend that first")
	pt.begin(pt.kafka)
	pt.well()
	pt.second.well()
}

// leavesInPieces has a run killed, whose remains the next one names, with what
// removes them; and one interrupted while its database is away.
func (pt *provableTier) leavesInPieces(t *testing.T, p *stack.Postgres) {
	run := pt.running(t, p)
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // it was killed
	code, _, stderr := pt.prove(t, "--duration", "5s")
	_, undo, found := strings.Cut(stderr, "If none is, this does:\n\n")
	if code != 1 || !found {
		t.Fatalf("after a run that was killed: exit code %d, %s", code, stderr)
	}
	for statement := range strings.SplitSeq(strings.TrimSpace(undo), ";") {
		if statement != "" {
			stacktest.Exec(t, p, statement)
		}
	}
	pt.asItWas(t)

	way := stacktest.Forwarder(t)
	way.To(p.Address())
	before := pt.environment[len(pt.environment)-1]
	pt.environment = append(pt.environment, strings.Replace(before, p.Address(), way.Address(), 1))
	run = pt.running(t, p)
	way.Cut()
	if err := run.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run notices", func() bool {
		said, err := os.ReadFile(filepath.Join(pt.out, "stderr"))
		return err == nil && strings.Contains(string(said), "interrupted: what was begun is ended")
	})
	way.Pass()
	_ = run.Wait() // its exit code says how it ended
	if said, err := os.ReadFile(filepath.Join(pt.out, "stderr")); run.ProcessState.ExitCode() != 1 || err != nil || !strings.Contains(string(said), "the run was interrupted, so there is no verdict") {
		t.Errorf("interrupted: exit code %d, %s, %v", run.ProcessState.ExitCode(), said, err)
	}
	pt.asItWas(t)
}

// running begins a run, and returns once it writes.
func (pt *provableTier) running(t *testing.T, p *stack.Postgres) *exec.Cmd {
	t.Helper()
	cmd := pt.command(t, "--duration", "10m", "--faults", "none")
	said, err := os.Create(filepath.Join(pt.out, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if the test has ended before it
	eventually(t, "the run writes", func() bool {
		n, err := p.Query(t.Context(), "SELECT count(*) > 2000 FROM "+table.Log)
		return err == nil && n == "t"
	})
	return cmd
}
