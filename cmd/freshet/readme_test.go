package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/e2e"
)

// The README's transcript happens as it is written. "…" stands for what
// differs from run to run; a reply may take as long as the bound to become
// what is written.
func TestReadmeTranscript(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "```console\n")
	if !ok {
		t.Fatal("the README has no transcript")
	}
	transcript, _, _ := strings.Cut(rest, "```")
	dir := t.TempDir()
	d := startDev(t, dir)
	c := dial(t, d.address)
	for _, step := range strings.Split("\n"+transcript, "\n$ ")[1:] {
		line, want, _ := strings.Cut(strings.TrimSuffix(step, "\n"), "\n")
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + "$")
		for start := time.Now(); ; time.Sleep(time.Millisecond) { // between two reads of a loop that ends by the bound
			asked := time.Since(start)
			got := typed(t, c, dir, words(t, line))
			if pattern.MatchString(got) {
				break
			}
			if asked > bound || strings.HasPrefix(line, "freshet") {
				t.Fatalf("$ %s\n%s\nbut the README says\n%s", line, got, want)
			}
		}
	}
}

// words splits a command line at blanks outside double quotes.
func words(t *testing.T, line string) []string {
	t.Helper()
	var out []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// typed does what a shell would, on this test's own ports and folder.
func typed(t *testing.T, c *e2e.Client, dir string, args []string) string {
	t.Helper()
	switch {
	case len(args) > 3 && args[0] == "freshet" && args[1] == "dev" && args[2] == "sql":
		code, stdout, stderr := called(t, "dev", "sql", "--dir", dir, args[3])
		if code != 0 {
			t.Fatalf("%q: %d, %s", args, code, stderr)
		}
		return strings.TrimSuffix(stdout, "\n")
	case len(args) > 3 && args[0] == "redis-cli" && args[1] == "-p" && args[2] == "6400":
		return shown(do(t, c, args[3:]...), args[3:])
	}
	t.Fatalf("the README has a command that is not understood: %q", args)
	return ""
}

// shown prints a reply as redis-cli does on a terminal.
func shown(reply string, command []string) string {
	switch {
	case reply == e2e.Nil:
		return reply
	case command[0] == "SET":
		return reply
	case command[0] != "FRESHET.GET":
		return quoted(reply)
	}
	var lines []string
	for i, element := range strings.Split(reply, "\n") {
		if element != "1" {
			element = quoted(element)
		} else {
			element = "(integer) 1"
		}
		lines = append(lines, fmt.Sprintf("%2d) %s", i+1, element))
	}
	return strings.Join(lines, "\n")
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// What the README says of commands, settings and metrics, there is.
func TestReadmeNamesWhatExists(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(readme)
	if lines := strings.Count(text, "\n"); lines > 300 {
		t.Errorf("the README has %d lines, and wants at most 300", lines)
	}
	for _, c := range commands() {
		if !strings.Contains(text, "freshet "+c.name) && c.name != "version" {
			t.Errorf("the README does not speak of freshet %s", c.name)
		}
	}
	_, defaults, _ := called(t, "--print-defaults")
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.\\[\\]]+)` \\| ([^|]+) \\| [^|]+ \\|$").FindAllStringSubmatch(text, -1) {
		name, value := m[1][strings.LastIndex(m[1], ".")+1:], m[2]
		if !strings.Contains(defaults, name+": "+value) {
			t.Errorf("the README says that %s is %s by default", m[1], value)
		}
	}
}
