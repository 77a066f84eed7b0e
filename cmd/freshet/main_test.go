package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// asFreshet makes the test binary be freshet itself, for tests that need a
// process.
const asFreshet = "FRESHET_TEST_AS_FRESHET"

func TestMain(m *testing.M) {
	if os.Getenv(asFreshet) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// called runs a command line and returns its exit code and what it printed.
func called(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

func TestWrongCallsExitWith2(t *testing.T) {
	for _, args := range [][]string{
		{}, {"nothing"}, {"serve"}, {"serve", "--config"}, {"serve", "--nonsense"}, {"relay", "extra"},
		{"dev", "--nodes", "0"}, {"dev", "--nodes", "x"}, {"dev", "sql"}, {"dev", "sql", "a", "b"}, {"version", "1"},
		{"serve", "f.yaml"}, {"dev", "--log-level", "loud"},
	} {
		code, _, stderr := called(t, args...)
		if code != 2 || !strings.Contains(stderr, "freshet help") {
			t.Errorf("%q: exit code %d, %q", args, code, stderr)
		}
	}
}

// Half a name is told its other half.
func TestHalfACommand(t *testing.T) {
	for _, args := range [][]string{{"ctl"}, {"ctl", "--help"}, {"ctl", "rings"}} {
		if code, _, stderr := called(t, args...); code != 2 || !strings.Contains(stderr, `there is no command "ctl", but "ctl ring"`) {
			t.Errorf("%q: exit code %d, %q", args, code, stderr)
		}
	}
}

func TestHelpExitsWith0(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"help"}, "freshet serve --config FILE"},
		{[]string{"--help"}, "freshet dev"},
		{[]string{"serve", "--help"}, "-check"},
		{[]string{"relay", "-h"}, "-config"},
		{[]string{"dev", "--help"}, "127.0.0.1:6492"},
		{[]string{"dev", "sql", "--help"}, "STATEMENT"},
		{[]string{"version"}, "freshet "},
		{[]string{"--version"}, "freshet "},
		{[]string{"--print-defaults"}, "checkpoint_interval: 100ms"},
	} {
		if code, stdout, stderr := called(t, c.args...); code != 0 || !strings.Contains(stdout, c.want) || stderr != "" {
			t.Errorf("%q: exit code %d, stdout without %q:\n%s%s", c.args, code, c.want, stdout, stderr)
		}
	}
}

// configuration writes a file with these lines in it.
func configuration(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "freshet.yaml")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestErrorsExitWith1AndNameTheMend(t *testing.T) {
	absent := configuration(t, "source: {sqlite: {path: absent.db}}", "use_cases: [{name: u, table: t}]")
	text := configuration(t, "source: {sqlite: {path: freshet.yaml}}", "use_cases: [{name: u, table: t}]")
	folder := configuration(t, "source: {sqlite: {path: .}}", "use_cases: [{name: u, table: t}]")
	unknown := configuration(t, "sauce: 1")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().String()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no configuration":     {[]string{"serve", "--config", "absent.yaml"}, "absent.yaml: no such file or directory; name a configuration"},
		"unknown setting":      {[]string{"serve", "--config", unknown, "--check"}, `:1: unknown setting "sauce"`},
		"no database":          {[]string{"serve", "--config", absent, "--check"}, "absent.db: no such file or directory: create the database, or correct its path"},
		"no SQLite":            {[]string{"serve", "--config", text, "--check"}, "file is not a database (26): name a SQLite database"},
		"a folder":             {[]string{"serve", "--config", folder, "--check"}, "name a database file"},
		"no address":           {[]string{"dev", "--listen", "nowhere", "--admin", "127.0.0.1:0", "--kafka", "127.0.0.1:0"}, "give an address of this machine as HOST:PORT with node.listen, or --listen"},
		"no database, relay":   {[]string{"relay", "--config", absent, "--check"}, "absent.db"},
		"listen port taken":    {[]string{"dev", "--listen", port, "--admin", "127.0.0.1:0", "--kafka", "127.0.0.1:0"}, "choose another address with node.listen, or --listen"},
		"admin port taken":     {[]string{"dev", "--listen", "127.0.0.1:0", "--admin", port, "--kafka", "127.0.0.1:0"}, "choose another address with node.admin, or --admin"},
		"kafka port taken":     {[]string{"dev", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--kafka", port}, "choose another address with --kafka"},
		"no freshet dev there": {[]string{"dev", "sql", "--dir", t.TempDir(), "SELECT 1"}, "there is no database of freshet dev"},
	} {
		if code, _, stderr := called(t, c.args...); code != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, stderr without %q:\n%s", name, code, c.want, stderr)
		}
	}
}

func TestChecksAGoodConfiguration(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir)
	d.stop()
	good := configuration(t, "source: {sqlite: {path: "+filepath.Join(dir, "shop.db")+"}}", "use_cases: [{name: u, table: users}]")
	for _, command := range []string{"serve", "relay"} {
		if code, stdout, stderr := called(t, command, "--config", good, "--check"); code != 0 || !strings.Contains(stdout, "good") {
			t.Errorf("%s: exit code %d: %s%s", command, code, stdout, stderr)
		}
	}
	bad := configuration(t, "source: {sqlite: {path: "+filepath.Join(dir, "shop.db")+"}}", "use_cases: [{name: u, table: users, key: [name]}]")
	if code, _, stderr := called(t, "serve", "--config", bad, "--check"); code != 1 || !strings.Contains(stderr, "unique") {
		t.Errorf("a key that is not unique: exit code %d, %s", code, stderr)
	}
}

func TestGreetsWithAnAddressThatRedisCliTakes(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:6400": "redis-cli -h 127.0.0.1 -p 6400 GET",
		"[::]:6400":      "redis-cli -h :: -p 6400 GET",
	} {
		var out strings.Builder
		if greet([]string{address}, &out); !strings.Contains(out.String(), want) {
			t.Errorf("without %q:\n%s", want, &out)
		}
	}
}

// running is a freshet dev inside this process.
type running struct {
	address string
	stop    func()
}

// announced calls found with the first address that is printed.
type announced struct {
	text  strings.Builder
	found chan<- string
}

func (a *announced) Write(p []byte) (int, error) {
	a.text.Write(p)
	if rest, ok := strings.CutPrefix(a.text.String(), "Freshet answers at "); ok && a.found != nil {
		if address, _, ok := strings.Cut(rest, ". Try:"); ok {
			a.found <- address
			a.found = nil
		}
	}
	return len(p), nil
}

// startDev runs freshet dev with ports of the system's choice, until stop.
func startDev(t *testing.T, dir string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	found := make(chan string, 1)
	ended := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		ended <- run(ctx, []string{"dev", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--dir", dir},
			&announced{found: found}, &stderr)
	}()
	stopped := false
	r := &running{stop: func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("freshet dev ended with %d: %s", code, &stderr)
		}
	}}
	t.Cleanup(r.stop)
	select {
	case r.address = <-found:
	case code := <-ended:
		stopped = true
		cancel()
		t.Fatalf("freshet dev ended with %d: %s", code, &stderr)
	}
	return r
}

// The help is a table: no command is longer than its column.
func TestHelpIsATable(t *testing.T) {
	var b bytes.Buffer
	help(&b)
	for _, c := range commands() {
		call, doc, found := strings.Cut(b.String(), c.doc)
		if line := call[strings.LastIndexByte(call, '\n')+1:]; !found || len([]rune(line)) != len("  freshet ")+39 {
			t.Errorf("%q, then %q", line, doc[:min(20, len(doc))])
		}
	}
}
