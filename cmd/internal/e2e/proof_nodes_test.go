package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
)

// processes is a tier whose nodes are processes, each at the same addresses in
// all its lives.
type processes struct {
	t       *testing.T
	dir     string
	names   []string // of all, also those that are down
	nodes   map[string]*nodeProcess
	pending time.Duration // how long a change of the tier may take
}

type nodeProcess struct {
	*stack.Process
	forwards, redirects, admin, peers string
}

// newProcesses prepares nodes of these names, and starts none. settings are
// the configuration but for node and tier, and times the tier's.
func newProcesses(t *testing.T, settings, times string, environment []string, names ...string) *processes {
	t.Helper()
	ps := &processes{t: t, dir: t.TempDir(), names: names, nodes: map[string]*nodeProcess{}, pending: 3 * time.Minute}
	var members []string
	for _, name := range names {
		n := &nodeProcess{forwards: address(t), redirects: address(t), admin: address(t), peers: address(t)}
		ps.nodes[name] = n
		members = append(members, n.peers)
	}
	for _, name := range names {
		ps.prepare(name, environment, fmt.Sprintf(`
node: {listen: %q, admin: %q, listeners: [{listen: %q, routing: redirect}]}
tier: {name: %s, listen: %q, members: ["%s"], %s}
%s`, ps.nodes[name].forwards, ps.nodes[name].admin, ps.nodes[name].redirects, name, ps.nodes[name].peers, strings.Join(members, `", "`), times, settings))
	}
	return ps
}

func (ps *processes) prepare(name string, environment []string, config string) {
	ps.t.Helper()
	path, err := binary()
	if err != nil {
		ps.t.Fatal(err)
	}
	file := filepath.Join(ps.dir, name+".yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		ps.t.Fatal(err)
	}
	n := ps.nodes[name]
	n.Process = stack.NewProcess(stack.Program{
		Path: path, Args: []string{"serve", "--config", file}, Env: environment, Log: filepath.Join(ps.dir, name+".log"),
		Answers: func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", n.admin)
			if err == nil {
				conn.Close()
			}
			return err
		},
	})
	ps.t.Cleanup(func() {
		if err := n.Kill(); err != nil {
			ps.t.Error(err)
		}
		if ps.t.Failed() {
			lines := strings.Split(strings.TrimSpace(n.Log()), "\n")
			ps.t.Logf("%s said at last:\n%s", name, strings.Join(lines[max(0, len(lines)-12):], "\n"))
		}
	})
}

// begin starts nodes, and waits until each may be sent clients.
func (ps *processes) begin(names ...string) {
	ps.t.Helper()
	ctx, cancel := context.WithTimeout(ps.t.Context(), ps.pending)
	defer cancel()
	for _, name := range names {
		if err := ps.nodes[name].Start(ctx); err != nil {
			ps.t.Fatal(err)
		}
	}
	for _, name := range names {
		ps.await(name+" is ready", func() bool { return strings.HasPrefix(fetch(ps.nodes[name].admin, "/readyz"), "ready") })
	}
}

// leave ends a node in good order, as a deployment does.
func (ps *processes) leave(name string) {
	ps.t.Helper()
	ctx, cancel := context.WithTimeout(ps.t.Context(), ps.pending)
	defer cancel()
	if err := ps.nodes[name].Stop(ctx); err != nil {
		ps.t.Fatal(err)
	}
}

// agree waits until these nodes know that they, and no others, serve, and that
// all have faded in.
func (ps *processes) agree(names ...string) {
	ps.t.Helper()
	want := slices.Sorted(slices.Values(names))
	ps.await("the tier is "+strings.Join(want, " "), func() bool {
		return !slices.ContainsFunc(want, func(name string) bool { return !slices.Equal(ps.serving(name), want) })
	})
}

// serving names those that a node knows to serve all of their keys.
func (ps *processes) serving(at string) (names []string) {
	var ring node.Ring
	if json.Unmarshal([]byte(fetch(ps.nodes[at].admin, "/ring")), &ring) != nil || ring.Rings != 1 {
		return nil
	}
	for _, m := range ring.Members {
		if m.State == "serving" && m.Moved == 1 {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (ps *processes) await(what string, f func() bool) {
	ps.t.Helper()
	for deadline := time.Now().Add(ps.pending); !f(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			ps.t.Fatalf("never: %s", what)
		}
	}
}

// owner is whom a key belongs to, by one node's ring.
func (ps *processes) owner(at, key string) string {
	ps.t.Helper()
	var ring node.Ring
	if err := json.Unmarshal([]byte(fetch(ps.nodes[at].admin, "/ring?key="+key)), &ring); err != nil || ring.Key == nil {
		ps.t.Fatalf("the ring at %s: %v", at, err)
	}
	return ring.Key.Owner
}
