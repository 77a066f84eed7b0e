package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/e2e"
)

func dial(t *testing.T, address string) *e2e.Client {
	t.Helper()
	c, err := e2e.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func do(t *testing.T, c *e2e.Client, args ...string) string {
	t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// A named folder is found again, with what was changed in it.
func TestDevFindsItsFolderAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	first := startDev(t, dir)
	do(t, dial(t, first.address), "SET", "key:mine", "kept")
	if code, _, stderr := called(t, "dev", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--dir", dir); code != 1 || !strings.Contains(stderr, "another freshet dev") {
		t.Errorf("a second freshet dev on one folder: %d, %s", code, stderr)
	}
	first.stop()
	second := startDev(t, dir)
	c := dial(t, second.address)
	if got := do(t, c, "GET", "key:mine"); got != "kept" {
		t.Errorf("found again: %q", got)
	}
	if code, stdout, stderr := called(t, "dev", "sql", "--dir", dir, "UPDATE kv SET value = 'changed' WHERE key = 'mine'"); code != 0 || stdout != "1 rows changed\n" {
		t.Fatalf("dev sql: %d, %s%s", code, stdout, stderr)
	}
	becomes(t, c, bound, "changed", "GET", "key:mine")
}

// bound is that of the sample's use cases.
const bound = 2 * time.Second

// becomes asks until the reply is want, for as long as limit allows.
func becomes(t *testing.T, c *e2e.Client, limit time.Duration, want string, args ...string) {
	t.Helper()
	start := time.Now()
	for {
		asked := time.Since(start)
		got := do(t, c, args...)
		if got == want {
			return
		}
		if asked > limit {
			t.Fatalf("%v: the reply is still\n%s\nand not\n%s", args, got, want)
		}
		time.Sleep(time.Millisecond) // between two reads of a loop that ends by its limit
	}
}

// As a process: it is ready within a second, answers what it has begun when it
// is told to end, exits with 0, and leaves nothing behind.
func TestDevAsAProcess(t *testing.T) {
	temporary := t.TempDir()
	cmd := exec.Command(os.Args[0], "dev", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--kafka", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), asFreshet+"=1", "TMPDIR="+temporary)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	lines.Scan()
	// Logged only: a machine that tests ten packages at once proves nothing.
	t.Logf("ready after %v", time.Since(start))
	rest, ok := strings.CutPrefix(lines.Text(), "Freshet answers at ")
	if !ok {
		t.Fatalf("%q, and %s", lines.Text(), &stderr)
	}
	address, _, _ := strings.Cut(rest, ". Try:")
	for range 3 {
		if !lines.Scan() {
			t.Error("fewer than three lines to try")
		}
	}

	c := dial(t, address)
	const requests = 1000
	commands := make([][]string, requests)
	for i := range commands {
		commands[i] = []string{"HGET", fmt.Sprintf("users:%d", i+1), "id"}
	}
	if err := c.Send(commands...); err != nil {
		t.Fatal(err)
	}
	for i := 1; ; i++ {
		reply, err := c.Receive()
		if err != nil {
			break // drained
		}
		if i == 1 {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		if reply != fmt.Sprint(i) {
			t.Fatalf("reply %d is %q", i, reply)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &stderr)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
