package command

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata/vectors.golden anew; each difference needs its reason put in by hand")

var (
	connectionID = regexp.MustCompile(`\$2\r\nid\r\n:\d+\r\n`)
	inlineKeys   = regexp.MustCompile(`(?m)^((?:SET|GET|DEL|EXPIRE|TTL|PTTL|MGET|HSET) "?)`)
)

// mapped puts a vector's bare keys under the use case `key`.
func mapped(name, input string) string {
	if strings.HasPrefix(input, "*") {
		if name == "empty key SET/GET" {
			return multibulk("SET", "key:", "v") + multibulk("GET", "key:")
		}
		return strings.Replace(input, "$1\r\na\r\n", "$5\r\nkey:a\r\n", 1)
	}
	return strings.ReplaceAll(inlineKeys.ReplaceAllString(input, "${1}key:"), "key:a h", "key:a key:h")
}

// The vectors are what Redis 7.0.15 answered. testdata/vectors.golden has one
// line for each: "same", or the reason of the difference and our reply.
func TestVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			Name      string
			InputHex  string `json:"input_hex"`
			OutputHex string `json:"output_hex"`
			Closed    bool
			Server    string // and how it was set up
		}
	}
	text, err := os.ReadFile("testdata/resp_redis7.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	reasons := readGolden(t)
	var golden strings.Builder
	for _, v := range file.Vectors {
		input, _ := hex.DecodeString(v.InputHex)
		output, _ := hex.DecodeString(v.OutputHex)
		want := connectionID.ReplaceAllString(string(output), "$2\r\nid\r\n:1\r\n")
		var options Options
		if strings.HasSuffix(v.Server, "requirepass secret") {
			options.Users = someUsers(t)
		}
		got, end := drive(New(catalog(t), newFake(), newFake(), options).NewSession(), mapped(v.Name, string(input)), len(input)+100)
		got = connectionID.ReplaceAllString(got, "$2\r\nid\r\n:1\r\n")
		line := v.Name + " | same"
		if got != want || v.Closed != (end != Read) {
			reason := reasons[v.Name]
			if reason == "" || reason == "same" {
				t.Errorf("%s: got %q and %v, Redis has %q and closed %v: a difference needs its reason in testdata/vectors.golden", v.Name, got, end, want, v.Closed)
				reason = ""
			}
			line = fmt.Sprintf("%s | %s | %q", v.Name, reason, got)
		}
		golden.WriteString(line + "\n")
	}
	if *update {
		if err := os.WriteFile("testdata/vectors.golden", []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, _ := os.ReadFile("testdata/vectors.golden"); string(have) != golden.String() {
		t.Errorf("testdata/vectors.golden is not what the vectors give, which is:\n%s", golden.String())
	}
}

func readGolden(t *testing.T) map[string]string {
	reasons := map[string]string{}
	text, err := os.ReadFile("testdata/vectors.golden")
	if err != nil && !*update {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if parts := strings.SplitN(line, " | ", 3); len(parts) > 1 {
			reasons[parts[0]] = parts[1]
		}
	}
	return reasons
}

// redis starts a redis-server of the version whose protocol this is, on a
// socket in a folder of the test, with more arguments.
func redis(t *testing.T, args ...string) (dial func() net.Conn) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("install redis-server 7.0 to compare with it: there is none in PATH")
	}
	if version, err := exec.Command(path, "--version").Output(); err != nil || !bytes.Contains(version, []byte("v=7.0.")) {
		t.Skipf("install redis-server 7.0 to compare with it: this one is %q (%v)", version, err)
	}
	dir, err := os.MkdirTemp("", "redis") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	args = append(args, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir, "--daemonize", "no",
		"--hash-max-listpack-value", "100000") // so that the fields of a hash keep their order
	server := exec.Command(path, args...)
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
		os.RemoveAll(dir)
	})
	ready := make([]byte, 0, 8<<10)
	for !bytes.Contains(ready, []byte("ready to accept connections")) {
		part := make([]byte, 1<<10)
		n, err := out.Read(part)
		if err != nil {
			t.Fatalf("redis-server: %v after %q", err, ready)
		}
		ready = append(ready, part[:n]...)
	}
	go io.Copy(io.Discard, out)
	return func() net.Conn {
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(time.Minute)) // a hang fails the test
		return c
	}
}
