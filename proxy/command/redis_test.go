package command

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
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
// socket in a folder of the test.
func redis(t *testing.T) (dial func() net.Conn) {
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
	server := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir, "--daemonize", "no")
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
		c.SetDeadline(time.Now().Add(10 * time.Second)) // a hang fails the test
		return c
	}
}

const marker = "*2\r\n$4\r\nECHO\r\n$8\r\n<marker>\r\n"

// ask sends a stream and a marker behind it, and returns what was answered up
// to the marker, or to the end of the connection.
func ask(t *testing.T, c net.Conn, stream string) (replies string, closed bool) {
	defer c.Close()
	go io.WriteString(c, stream+marker)
	var got []byte
	part := make([]byte, 64<<10)
	for {
		n, err := c.Read(part)
		got = append(got, part[:n]...)
		if before, ok := bytes.CutSuffix(got, []byte("$8\r\n<marker>\r\n")); ok {
			return string(before), false
		}
		if err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				t.Fatalf("redis-server does not answer %q", stream)
			}
			return string(got), true
		}
	}
}

// TestAgainstRedis compares random streams, well-formed and not, with what a
// redis-server answers. Only commands are used that mean the same in both.
func TestAgainstRedis(t *testing.T) {
	dial := redis(t)
	const streams = 3000
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	flush := "FLUSHALL\r\n"
	for i := range streams {
		stream := randomStream(random)
		want, wantClosed := ask(t, dial(), flush+stream)
		want = strings.TrimPrefix(want, "+OK\r\n")
		got, end := drive(newSession(t, newFake()), stream+marker, 1+random.IntN(40))
		if wantClosed != (end != Read) {
			t.Fatalf("seed %d, stream %d %q: ended with %v, Redis closed: %v, %q", seed, i, stream, end, wantClosed, want)
		}
		if !wantClosed {
			got = strings.TrimSuffix(got, "$8\r\n<marker>\r\n")
		}
		if end == Drop {
			continue // what is lost depends on the pieces
		}
		if got != want {
			t.Fatalf("seed %d, stream %d %q:\n got %q\nwant %q", seed, i, stream, got, want)
		}
	}
}

func randomStream(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(6) {
		b.WriteString(randomRequest(r))
	}
	return b.String()
}

func randomRequest(r *rand.Rand) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	key := func() string { return pick("key:a", "key:b", "key:", "key:\x01\xff", "key:{x}") }
	word := func() string {
		return pick("", "x", "a b", "\"", "'", "\\", "\r\n", "\xff\x01", "$-1", strings.Repeat("y", 1+r.IntN(150)), "key:a")
	}
	name := func(s string) string {
		if r.IntN(4) == 0 {
			return strings.ToLower(s)
		}
		return s
	}
	switch r.IntN(24) {
	case 0, 1, 2:
		return multibulk(name("SET"), key(), word())
	case 3, 4, 5:
		return multibulk(name("GET"), key())
	case 6:
		return multibulk(name("MGET"), key(), key(), key())
	case 7:
		return multibulk(name("DEL"), key(), key())
	case 8:
		return multibulk(name("EXISTS"), key(), key())
	case 9:
		return multibulk(pick("PING", "ECHO"), word())
	case 10:
		return pick("PING\r\n", "PING\n", "\r\n", "*0\r\n", "*-1\r\n", "ECHO \"a\\x41\\n\"\r\n", "ECHO 'a\\'b\\n'\r\n", "ECHO \"\"\r\n", "  PING  \r\n", "ECHO a\"b c\"\r\n", "ECHO \\n\r\n")
	case 11:
		return multibulk(pick("GET", "MGET", "SET", "DEL", "EXISTS", "ECHO", "HGET", "CLIENT", "CONFIG", "CLUSTER", "SELECT", "AUTH"))
	case 12:
		return multibulk("NOBODY"+word(), word(), word(), word())
	case 13:
		return multibulk("CLIENT", pick("SETNAME", "setname"), word())
	case 14:
		return multibulk("CLIENT", pick("GETNAME", "NOBODY"+word(), "SETNAME"))
	case 15:
		return multibulk("SELECT", pick("0", "x", "", "99"))
	case 16:
		return multibulk("HELLO", pick("4", "x", "1"))
	case 17:
		return multibulk(pick("RESET", "ROLE", "EXEC", "DISCARD"))
	case 18:
		return multibulk("AUTH", pick("x", "default"), pick("x", "y"))
	case 19:
		return multibulk("AUTH", word())
	case 20:
		return multibulk("SET", key(), "v", word())
	case 21:
		return pick("*1\r\n$4\r\nPINGxx", "*1\r\n$4\r\nQUIT\r\n", "*2\r\n$3\r\nGET\r\n$-1\r\n", "*abc\r\n", "*2147483648\r\n", "*1\r\n$01\r\n",
			"*1\r\n$-0\r\n", "*1\r\n+x\r\n", "*1\r\n\r\r\n", "*+1\r\n", "*-0\r\n", "*01\r\n", "*1\r\n$99999999999999999999\r\n", "ECHO \"a\r\n", "ECHO \"a\"b\r\n",
			"POST / HTTP/1.1\r\n", "Host: x\r\n", "ECHO 'a\\'\r\n", "*\r\n", "*1\r\n$\r\n", "*1\r\n$ 4\r\nPING\r\n")
	default:
		return multibulk("GET", key())
	}
}
