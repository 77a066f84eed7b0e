package e2e

import (
	"bufio"
	"context"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// The clients of other languages at a tier, as they come, all at once: at any
// node, and as clients of Redis Cluster. A node leaves and another joins while
// they work, and none of their commands fails. testdata/clients.md has what
// came of it.
func TestRealClientsOfATier(t *testing.T) {
	stacktest.Need(t)
	programs, err := filepath.Abs("testdata/clients")
	if err != nil {
		t.Fatal(err)
	}
	venv, npm, jars := t.TempDir(), t.TempDir(), t.TempDir()
	install(t, "", "python3", "-m", "venv", venv)
	install(t, "", filepath.Join(venv, "bin", "pip"), "install", "--quiet", "-r", filepath.Join(programs, "python", "requirements.txt"))
	install(t, "", "cp", "-r", filepath.Join(programs, "node")+"/.", npm)
	install(t, npm, "npm", "ci", "--no-audit", "--no-fund", "--silent")
	install(t, filepath.Join(programs, "java"), "mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory="+jars)

	tr := newClientTier(t)
	var running []*tierProgram
	for _, mode := range []string{"plain", "cluster"} {
		for _, command := range [][]string{
			{filepath.Join(venv, "bin", "python"), filepath.Join(programs, "python", "tier.py")},
			{"node", filepath.Join(npm, "tier.mjs")},
			{"java", "-cp", jars + "/*", filepath.Join(programs, "java", "TierLettuce.java")},
			{"java", "-cp", jars + "/*", filepath.Join(programs, "java", "TierJedis.java")},
		} {
			running = append(running, tr.run(mode, command...))
		}
	}
	for _, p := range running {
		p.until("change")
	}
	tr.leave("n3")
	tr.settle("n1", "n2")
	tr.begin("n4")
	tr.settle("n1", "n2", "n4")
	for _, p := range running {
		io.WriteString(p.in, "\n")
	}
	for _, p := range running {
		p.until("done")
	}
}

// tierProgram is a client's program at work.
type tierProgram struct {
	t     *testing.T
	name  string
	in    io.Writer
	lines *bufio.Scanner
	said  *strings.Builder
}

// run starts a program at the first node's listener for that mode.
func (tr *clientTier) run(mode string, command ...string) *tierProgram {
	tr.t.Helper()
	at := tr.members["n1"].forwards()
	if mode == "cluster" {
		at = tr.members["n1"].redirects()
	}
	host, port, _ := net.SplitHostPort(at)
	ctx, cancel := context.WithTimeout(tr.t.Context(), 5*time.Minute)
	tr.t.Cleanup(cancel)
	c := exec.CommandContext(ctx, command[0], append(command[1:], mode, host, port)...)
	p := &tierProgram{t: tr.t, name: filepath.Base(command[len(command)-1]) + " " + mode, said: &strings.Builder{}}
	c.Stderr = p.said
	in, err := c.StdinPipe()
	if err != nil {
		tr.t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.t.Cleanup(func() {
		cancel()
		_ = c.Wait()
		if tr.t.Failed() {
			tr.t.Logf("%s: %s", p.name, p.said)
		}
	})
	p.in, p.lines = in, bufio.NewScanner(out)
	return p
}

// until waits for a line of the program.
func (p *tierProgram) until(want string) {
	p.t.Helper()
	for p.lines.Scan() {
		line := p.lines.Text()
		if line == want {
			return
		}
		p.t.Logf("%s: %s", p.name, line)
	}
	p.t.Errorf("%s ended before %q", p.name, want)
}
