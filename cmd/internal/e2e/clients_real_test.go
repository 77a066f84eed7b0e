package e2e

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

var realOperations = flag.Int("clients.real-operations", 3000, "operations that each client in another language does while some are given up")

// B56: the clients of other languages, as they come. Each program under
// testdata/clients says what it tries.
func TestRealClients(t *testing.T) {
	stacktest.Need(t)
	programs, err := filepath.Abs("testdata/clients")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("python", func(t *testing.T) {
		venv := t.TempDir()
		install(t, "", "python3", "-m", "venv", venv)
		install(t, "", filepath.Join(venv, "bin", "pip"), "install", "--quiet", "-r", filepath.Join(programs, "python", "requirements.txt"))
		runClient(t, "", filepath.Join(venv, "bin", "python"), filepath.Join(programs, "python", "client.py"))
	})
	t.Run("node", func(t *testing.T) {
		dir := t.TempDir()
		install(t, "", "cp", "-r", filepath.Join(programs, "node")+"/.", dir)
		install(t, dir, "npm", "ci", "--no-audit", "--no-fund", "--silent")
		for _, program := range []string{"ioredis.mjs", "node-redis.mjs"} {
			t.Run(program, func(t *testing.T) { runClient(t, dir, "node", program) })
		}
	})
	t.Run("java", func(t *testing.T) {
		dir := t.TempDir()
		install(t, filepath.Join(programs, "java"), "mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory="+dir)
		for _, program := range []string{"Lettuce.java", "JedisClient.java"} {
			t.Run(program, func(t *testing.T) {
				runClient(t, "", "java", "-cp", dir+"/*", filepath.Join(programs, "java", program))
			})
		}
	})
}

// install runs a command that brings in what a program needs.
func install(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// runClient runs a program against a node of its own, and starts the node
// again when the program asks for it.
func runClient(t *testing.T, dir, name string, args ...string) {
	n := newClientNode(t)
	host, port, _ := net.SplitHostPort(n.address)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, append(args, host, port, fmt.Sprint(*realOperations))...)
	c.Dir = dir
	var said strings.Builder
	c.Stderr = &said
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	last := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if last = lines.Text(); last == "restart" {
			n.restart()
			io.WriteString(in, "\n")
			continue
		}
		t.Log(last)
	}
	if err := c.Wait(); err != nil || last != "done" {
		t.Errorf("%s ended with %v after %q:\n%s", filepath.Base(args[len(args)-1]), err, last, said.String())
	}
}

// tookLong is what redis-cli says of a command that took half a second.
var tookLong = regexp.MustCompile(`(?m)^\(\d+\.\d+s\)\n`)

// B56: redis-cli, in both protocols and from a pipe.
func TestRedisCLI(t *testing.T) {
	path, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("install redis-cli to try it: there is none in PATH")
	}
	n := newClientNode(t)
	_, port, _ := net.SplitHostPort(n.address)
	for _, protocol := range []string{"-2", "-3"} {
		c := exec.Command(path, "-p", port, protocol, "--no-raw")
		c.Stdin = strings.NewReader("SET key:cli \"a\\x00b\"\nGET key:cli\nHMGET users:1 city nobody\nMGET key:cli key:nothing\nDEL key:cli\nMULTI\nSET key:tx 1\nEXEC\nEXISTS key:tx\nNOBODY\nPING\n")
		got, err := c.Output()
		want := `OK
"a\x00b"
1) "Lyon"
2) (nil)
1) "a\x00b"
2) (nil)
(integer) 1
OK
(error) ERR transactions are not offered: the command is not carried out
(error) EXECABORT Transaction discarded because of previous errors: transactions are not offered
(integer) 0
(error) ERR unknown command 'NOBODY', with args beginning with: 
PONG
`
		if err != nil || tookLong.ReplaceAllString(strings.ReplaceAll(string(got), "\r\n", "\n"), "") != want {
			t.Errorf("redis-cli %s: %v\n%s", protocol, err, got)
		}
	}
}
