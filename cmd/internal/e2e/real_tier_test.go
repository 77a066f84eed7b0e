package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// binaryDir is where freshet was built, if it was. TestMain removes it.
var binaryDir string

// binary builds freshet once for all tests of this process.
var binary = sync.OnceValues(func() (path string, err error) {
	if binaryDir, err = os.MkdirTemp("", "freshet-e2e-"); err != nil {
		return "", err
	}
	path = filepath.Join(binaryDir, "freshet")
	if out, err := exec.Command("go", "build", "-o", path, "../../freshet").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w:\n%s", err, out)
	}
	return path, nil
})

// versions are those that CI tries; names of subtests.
var versions = map[string]stack.Version{"15": stack.PG15, "17": stack.PG17}

// eachVersion runs a test on each version of PostgreSQL.
func eachVersion(t *testing.T, f func(t *testing.T, v stack.Version)) {
	t.Helper()
	stacktest.Need(t)
	for _, name := range []string{"15", "17"} {
		t.Run(name, func(t *testing.T) { f(t, versions[name]) })
	}
}

// partitions of a tier's topic.
const partitions = 4

// tier is a node and a relay as processes, over a real database and broker.
type tier struct {
	t             *testing.T
	postgres      *stack.Postgres
	kafka         *stack.Kafka
	file          string // the configuration
	listen, admin string // of the node
	shipping      string // the relay's admin
	node, relay   *stack.Process
}

// newTier prepares a node and a relay of a database. useCases are as in a
// configuration.
func newTier(t *testing.T, p *stack.Postgres, k *stack.Kafka, useCases string) *tier {
	t.Helper()
	dir := t.TempDir()
	tr := &tier{
		t: t, postgres: p, kafka: k, file: filepath.Join(dir, "freshet.yaml"),
		listen: address(t), admin: address(t), shipping: address(t),
	}
	tr.configure(p.URL("", ""), useCases)
	tr.node = tr.process("serve", tr.admin)
	tr.relay = tr.process("relay", tr.shipping)
	return tr
}

// address is one that is free, and stays the part's own when it starts again.
func address(t *testing.T) string {
	t.Helper()
	port, err := stack.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// configure writes the configuration. What is in the file of the URL is read
// when a part starts.
func (tr *tier) configure(url, useCases string) {
	tr.t.Helper()
	tr.write(tr.file, fmt.Sprintf(`
node: {listen: "%s", admin: "%s"}
source:
  postgres:
    url: "file:url"
stream: {kafka: {brokers: ["%s"], topic: changes}}
relay:
  admin: "%s"
  partitions: %d
use_cases:
%s`, tr.listen, tr.admin, tr.kafka.Address(), tr.shipping, partitions, useCases))
	tr.connect(url)
}

// set adds a setting to the relay's.
func (tr *tier) set(line string) {
	tr.t.Helper()
	text, err := os.ReadFile(tr.file)
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.write(tr.file, strings.Replace(string(text), "relay:\n", "relay:\n  "+line+"\n", 1))
}

// connect sets the database's URL for parts that start from now on.
func (tr *tier) connect(url string) {
	tr.t.Helper()
	tr.write(filepath.Join(filepath.Dir(tr.file), "url"), url)
}

func (tr *tier) write(path, text string) {
	tr.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tr.t.Fatal(err)
	}
}

// process is one of freshet's commands. It has started when its admin port
// answers.
func (tr *tier) process(command, admin string) *stack.Process {
	tr.t.Helper()
	path, err := binary()
	if err != nil {
		tr.t.Fatal(err)
	}
	p := stack.NewProcess(stack.Program{
		Path: path, Args: []string{command, "--config", tr.file},
		Log: filepath.Join(filepath.Dir(tr.file), command+".log"),
		Answers: func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", admin)
			if err == nil {
				conn.Close()
			}
			return err
		},
	})
	tr.t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			tr.t.Error(err)
		}
		if tr.t.Failed() {
			lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
			tr.t.Logf("%s said at last:\n%s", command, strings.Join(lines[max(0, len(lines)-40):], "\n"))
		}
	})
	return p
}

// start starts the relay and the node, and waits until all is well.
func (tr *tier) start() *tier {
	tr.t.Helper()
	tr.begin(tr.relay)
	tr.begin(tr.node)
	tr.well()
	return tr
}

func (tr *tier) begin(p interface{ Start(context.Context) error }) {
	tr.t.Helper()
	ctx, cancel := context.WithTimeout(tr.t.Context(), patience)
	defer cancel()
	if err := p.Start(ctx); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tier) kill(p interface{ Kill() error }) {
	tr.t.Helper()
	if err := p.Kill(); err != nil {
		tr.t.Fatal(err)
	}
}

// well waits until the node has nothing to complain about: its source answers,
// and the watermark moves.
func (tr *tier) well() {
	tr.t.Helper()
	var last string
	for deadline := time.Now().Add(2 * patience); last != "ready\n"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tr.t.Fatalf("never well: %s", last)
		}
		last = fetch(tr.admin, "/readyz")
	}
}

// fetch returns what an admin port answers, or the error's words.
func fetch(admin, path string) string {
	defer http.DefaultClient.CloseIdleConnections()
	r, err := http.Get("http://" + admin + path)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// metric sums a metric's series that hold all of the labels; 0 if there are
// none.
func (tr *tier) metric(name string, labels ...string) float64 {
	tr.t.Helper()
	return sum(fetch(tr.admin, "/metrics"), name, labels...)
}

func sum(metrics, name string, labels ...string) float64 {
	total := 0.0
	for _, m := range regexp.MustCompile(`(?m)^`+name+`(\{.*\})? (\S+)$`).FindAllStringSubmatch(metrics, -1) {
		matches := true
		for _, l := range labels {
			matches = matches && strings.Contains(m[1], l)
		}
		if v, err := strconv.ParseFloat(m[2], 64); matches && err == nil {
			total += v
		}
	}
	return total
}

// share is the part of the next thousand reads that are hits, once every key
// has been read. On a busy machine the source may be slow, and the watermark
// old: then it is asked for again, for a while.
func (tr *tier) share(f *traffic) (share float64) {
	tr.t.Helper()
	for deadline := time.Now().Add(2 * patience); share < 0.8 && time.Now().Before(deadline); {
		share = tr.shareNow(f)
	}
	return share
}

func (tr *tier) shareNow(f *traffic) float64 {
	tr.t.Helper()
	c := dial(tr.t, tr.listen)
	defer c.Close()
	for key := range f.keys {
		if _, err := c.Do("HGET", fmt.Sprintf("versions:%d", key), "v"); err != nil && !strings.HasPrefix(err.Error(), "UNAVAILABLE") {
			tr.t.Fatal(err)
		}
	}
	count := func() (hits, fills float64) {
		text := fetch(tr.admin, "/metrics")
		return sum(text, "freshet_cache_hits_total"), sum(text, "freshet_cache_fills_total")
	}
	hits, fills := count()
	goal := f.reads.Load() + 1000
	eventually(tr.t, "reads go on", func() bool { return f.reads.Load() >= goal })
	moreHits, moreFills := count()
	return (moreHits - hits) / max(1, moreHits-hits+moreFills-fills)
}
