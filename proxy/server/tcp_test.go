package server

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// 200,000 commands are written before the first reply is read: all are
// answered, in order, in bounded memory.
func TestPipelineWrittenBeforeItIsRead(t *testing.T) {
	const commands = 200_000
	s := start(t, &table{}, Options{})
	c := dial(t, s.addr)
	var in bytes.Buffer
	for i := range commands {
		fmt.Fprintf(&in, "*2\r\n$4\r\nECHO\r\n$100\r\n%0100d\r\n", i)
	}
	before := heapInUse()
	if _, err := c.Write(in.Bytes()); err != nil { // returns once the server has taken it all
		t.Fatal(err)
	}
	if held := heapInUse() - before; held > 100<<20 {
		t.Errorf("%d MiB are held", held>>20)
	}
	replies := bufio.NewReader(c)
	got, want := make([]byte, 108), []byte(nil)
	for i := range commands {
		want = fmt.Appendf(want[:0], "$100\r\n%0100d\r\n", i)
		if _, err := io.ReadFull(replies, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("reply %d is %q (%v)", i, got, err)
		}
	}
}

// P40, B55: clients that leave in the middle of a pipeline, and reconnect,
// never shift the replies of any connection.
func TestAbandonedConnectionsShiftNothing(t *testing.T) {
	const clients, rounds, depth = 8, 400, 30
	src := &table{}
	s := start(t, src, Options{})
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 0))
			c := dial(t, s.addr)
			for round := range rounds {
				var in, want strings.Builder
				for j := range 1 + r.IntN(depth) {
					payload := fmt.Sprintf("%d-%d-%d", i, round, j)
					// A key of its own: an abandoned SET may still be carried out.
					switch key := "key:" + payload; r.IntN(3) {
					case 0:
						in.WriteString("ECHO " + payload + "\r\n")
						want.WriteString(bulk([]byte(payload)))
					case 1:
						in.WriteString(set(key, []byte(payload)) + get(key))
						want.WriteString("+OK\r\n" + bulk([]byte(payload)))
					default:
						in.WriteString(get("key:nobody") + "NOBODY\r\n")
						want.WriteString("$-1\r\n-ERR unknown command 'NOBODY', with args beginning with: \r\n")
					}
				}
				if r.IntN(4) == 0 { // leaves before, or in the middle of, the replies
					io.WriteString(c, in.String()[:r.IntN(in.Len())])
					c.Close()
					c = dial(t, s.addr)
					continue
				}
				io.WriteString(c, in.String())
				got := make([]byte, want.Len())
				if _, err := io.ReadFull(c, got); err != nil || string(got) != want.String() {
					t.Errorf("client %d, round %d: got %q (%v), want %q", i, round, got, err, want.String())
					return
				}
			}
		})
	}
	all.Wait()
}

const descriptorsEnv = "FRESHET_TEST_DESCRIPTORS"

// P9, for real: a process with few descriptors is overrun with connections,
// and serves again once they are gone.
func TestOutOfDescriptors(t *testing.T) {
	if os.Getenv(descriptorsEnv) != "" {
		serveWithFewDescriptors(t)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestOutOfDescriptors$")
	child.Env = append(os.Environ(), descriptorsEnv+"=1")
	stdin, _ := child.StdinPipe()
	stdout, _ := child.StdoutPipe()
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stdin.Close()
		if err := child.Wait(); err != nil {
			t.Errorf("the server's process: %v", err)
		}
	}()
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr = strings.TrimSpace(addr)

	conns := make([]net.Conn, 200) // the kernel completes them all; the process can accept some
	for i := range conns {
		conns[i] = dial(t, addr)
	}
	send(t, conns[0], "PING\r\n")
	expect(t, conns[0], "+PONG\r\n")
	for _, c := range conns[1:] {
		c.Close()
	}
	last := dial(t, addr)
	send(t, last, "PING\r\n")
	expect(t, last, "+PONG\r\n")
}

func serveWithFewDescriptors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
		t.Fatal(err)
	}
	s := start(t, &table{}, Options{}, l)
	fmt.Println(s.addr)
	io.Copy(io.Discard, os.Stdin) // until the parent is done
	if s.metric(t, "freshet_accept_errors_total", "") == 0 {
		t.Error("descriptors never ran out")
	}
}

// The last reply arrives though more was sent than is read.
func TestLastReplyArrives(t *testing.T) {
	s := start(t, &table{}, Options{})
	for range 20 {
		c := dial(t, s.addr)
		send(t, c, "*x\r\n"+strings.Repeat("PING\r\n", 20_000))
		got, err := io.ReadAll(c)
		if want := "-ERR Protocol error: invalid multibulk length\r\n"; string(got) != want {
			t.Fatalf("got %q (%v), want %q", got, err, want)
		}
	}
}

// Nor does a drain lose a reply to a client that goes on sending.
func TestDrainLosesNoReply(t *testing.T) {
	large := make([]byte, 1<<20)
	src := newHeld()
	src.rows = map[string]row.Row{"key:large": encode(large)}
	s := start(t, src, Options{})
	c := dial(t, s.addr)
	c.(*net.TCPConn).SetReadBuffer(64 << 10) // most of the reply waits on the other side
	send(t, c, get("key:held")+"PING\r\n"+get("key:large"))
	<-src.asked
	send(t, c, strings.Repeat("PING\r\n", 1000)) // which is not read any more
	s.draining.Store(true)
	close(src.letGo)
	expectEnd(t, c, "$-1\r\n+PONG\r\n"+bulk(large))
}

func TestHostileBytes(t *testing.T) {
	s := start(t, &table{}, Options{})
	r := rand.New(rand.NewPCG(3, 4))
	junk := make([]byte, 4096)
	for i := range junk {
		junk[i] = byte(r.Uint32())
	}
	for _, in := range []string{
		"*1\r\n$9223372036854775807\r\n", "*9223372036854775807\r\n", "*1\r\n$2147483645\r\n", "*999999999\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		strings.Repeat("x", 70_000), string(junk) + "\n",
	} {
		c := dial(t, s.addr)
		send(t, c, in)
		c.(*net.TCPConn).CloseWrite()
		if _, err := io.ReadAll(c); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%.40q: %v", in, err)
		}
	}
	c := dial(t, s.addr)
	send(t, c, "PING\r\n")
	expect(t, c, "+PONG\r\n")
}

var update = flag.Bool("update", false, "write testdata/metrics.golden anew")

// Metric names and their labels are what dashboards are made of.
func TestMetricNames(t *testing.T) {
	s := start(t, &table{}, Options{})
	c := dial(t, s.addr)
	send(t, c, "GET key:a\r\n\"\xff\xfe\"\r\nQUIT\r\n")
	io.ReadAll(c)
	families, err := s.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			line := f.GetName()
			for _, l := range m.GetLabel() {
				if l.GetName() == "command" && l.GetValue() != "get" && l.GetValue() != "other" {
					line = "" // one for each of the table
					break
				}
				line += fmt.Sprintf(" %s=%s", l.GetName(), l.GetValue())
			}
			if line != "" {
				lines = append(lines, line)
			}
		}
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("testdata/metrics.golden", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, _ := os.ReadFile("testdata/metrics.golden"); got != string(want) {
		t.Errorf("the metrics are now:\n%s", got)
	}
	for name, want := range map[string]float64{"get": 1, "other": 1, "quit": 1, "set": 0} {
		if n := s.metric(t, "freshet_commands_total", name); n != want {
			t.Errorf("%s was counted %v times, want %v", name, n, want)
		}
	}
}
