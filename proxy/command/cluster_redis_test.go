package command

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A redis-server that is a cluster by itself, and a node alone, answer alike
// but for IDs and numbers.
func TestClusterAnswersAsRedisDoes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free now, for Redis' bus
	if err != nil {
		t.Fatal(err)
	}
	bus := l.Addr().(*net.TCPAddr).Port
	l.Close()
	dial := redis(t, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-announce-port", "6401")
	alone := &fakeTier{now: NewTopology(1, []Member{{Name: "a", Port: 6401}}, 0, func(int) Placed { return Placed{} })}
	for _, hello := range []string{"2", "3"} {
		c := dial()
		defer c.Close()
		replies := bufio.NewReader(c)
		session := redirecting(t, newFake(), alone)
		ask := func(words ...string) (got, want string) {
			io.WriteString(c, multibulk(words...))
			return clusterShape(do(session, multibulk(words...))), clusterShape(readReply(t, replies))
		}
		ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
		for _, words := range [][]string{
			{"HELLO", hello}, {"CLUSTER", "SLOTS"}, {"CLUSTER", "SHARDS"}, {"CLUSTER", "NODES"}, {"CLUSTER", "INFO"}, {"CLUSTER", "MYID"},
			{"READONLY"}, {"READWRITE"}, {"ASKING"}, {"CLUSTER", "NOBODY"}, {"CLUSTER", "KEYSLOT"}, {"CLUSTER"}, {"READONLY", "x"},
			{"INFO", "cluster"}, {"CONFIG", "GET", "cluster-enabled"},
		} {
			if got, want := ask(words...); got != want {
				t.Errorf("RESP%s, %v:\n got %q\nwant %q", hello, words, got, want)
			}
		}
		for _, key := range []string{"a", "users:42", "{users:1}x", "a{}b", "{a}{b}", "x}{y", "users:42%?maxstale=1"} {
			io.WriteString(c, multibulk("CLUSTER", "KEYSLOT", key))
			if got, want := do(session, multibulk("CLUSTER", "KEYSLOT", key)), readReply(t, replies); got != want {
				t.Errorf("the slot of %s: %q, want %q", key, got, want)
			}
		}
	}
}

var (
	nodeID  = regexp.MustCompile(`[0-9a-f]{40}`)
	number  = regexp.MustCompile(`(\r\n:|@|epoch:|assigned:|ok:|id\r\n:| )[0-9]+`)
	lengths = regexp.MustCompile(`[$=][0-9]+\r\n`)
)

// clusterShape is a reply without what differs between two clusters of one
// node: lengths follow from IDs and numbers.
func clusterShape(reply string) string {
	reply = lengths.ReplaceAllString(nodeID.ReplaceAllString(reply, "<id>"), "$")
	reply = strings.Replace(reply, "cluster_state:fail", "cluster_state:ok", 1) // at first
	return number.ReplaceAllString(reply, "${1}<n>")
}

// readReply reads one reply as it comes.
func readReply(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$', '=':
		bulk := make([]byte, n+2)
		if _, err := io.ReadFull(r, bulk); err != nil {
			t.Fatal(err)
		}
		return line + string(bulk)
	case '%':
		n *= 2
	case '*', '~':
	default:
		return line
	}
	for range n {
		line += readReply(t, r)
	}
	return line
}

func TestClusterOfSeveralNodes(t *testing.T) {
	members := []Member{{Name: "a", Host: "10.0.0.1", Port: 6401}, {Name: "b", Host: "::1", Port: 6402}, {Name: "c", Host: "c.shop.example", Port: 6403, Away: true}}
	tier := &fakeTier{now: NewTopology(9, members, 1, func(slot int) Placed { return Placed{Owner: min(slot, 2) % 2, New: slot > 5} })}
	session := redirecting(t, newFake(), tier)
	a, b, c := idOf("a"), idOf("b"), idOf("c")
	node := func(host string, port int, id string) string {
		return fmt.Sprintf("*4\r\n$%d\r\n%s\r\n:%d\r\n$40\r\n%s\r\n*0\r\n", len(host), host, port, id)
	}
	want := "*3\r\n*3\r\n:0\r\n:0\r\n" + node("10.0.0.1", 6401, a) + "*3\r\n:1\r\n:1\r\n" + node("::1", 6402, b) + "*3\r\n:2\r\n:16383\r\n" + node("10.0.0.1", 6401, a)
	if got := do(session, "CLUSTER SLOTS\n"); got != want {
		t.Errorf("SLOTS: got %q, want %q", got, want)
	}
	lines := a + " 10.0.0.1:6401@0 master - 0 0 9 connected 0 2-16383\n" + b + " ::1:6402@0 myself,master - 0 0 9 connected 1\n" + c + " c.shop.example:6403@0 master,fail - 0 0 9 connected\n"
	if got := do(session, "CLUSTER NODES\n"); got != fmt.Sprintf("$%d\r\n%s\r\n", len(lines), lines) {
		t.Errorf("NODES: got %q, want %q", got, lines)
	}
	shards := do(session, "CLUSTER SHARDS\n")
	for _, part := range []string{"*4\r\n:0\r\n:0\r\n:2\r\n:16383\r\n", "*2\r\n:1\r\n:1\r\n", "*0\r\n", "$6\r\nfailed\r\n", "$8\r\nendpoint\r\n$14\r\nc.shop.example\r\n"} {
		if !strings.Contains(shards, part) {
			t.Errorf("SHARDS has no %q: %q", part, shards)
		}
	}
	if got := do(session, "CLUSTER MYID\n"); got != "$40\r\n"+b+"\r\n" {
		t.Errorf("MYID: %q", got)
	}
	if got := do(session, "CLUSTER INFO\n"); !strings.Contains(got, "cluster_known_nodes:3\r\ncluster_size:2\r\ncluster_current_epoch:9\r\n") {
		t.Errorf("INFO: %q", got)
	}
}
