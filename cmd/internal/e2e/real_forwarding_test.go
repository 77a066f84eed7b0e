package e2e

import (
	"encoding/csv"
	"flag"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

var (
	forwardingRounds = flag.Int("forwarding.rounds", 5, "rounds of TestRealForwarding")
	forwardingReads  = flag.Int("forwarding.reads", 20000, "reads of a round at pipeline depth 1; eight times as many at depth 16")
)

// forwardedKeys is how many keys of each node are read, evenly: so none is hot.
const forwardedKeys = 1000

// measured is what redis-benchmark found: replies a second, milliseconds.
type measured struct{ rate, p50, p99 float64 }

// What a hit costs that another node has, against one that this node has, in
// one run. Keys of one tag are one node's.
func TestRealForwarding(t *testing.T) {
	stacktest.Need(t)
	if _, err := exec.LookPath("redis-benchmark"); err != nil {
		t.Skip("needs redis-benchmark, which comes with a Redis server")
	}
	settings := newLight(t, "tagged", "CREATE TABLE tagged (k TEXT PRIMARY KEY NOT NULL, v TEXT NOT NULL); "+rowsOf(26*forwardedKeys)+
		fmt.Sprintf(`INSERT INTO tagged SELECT '{' || char(97 + i / %d) || '}' || printf('%%012d', i %% %[1]d), '%s' FROM n`, forwardedKeys, strings.Repeat("x", 100)),
		"  - {name: tagged, table: tagged, column: v, bound: 1h, timeout: 10s}\n")
	ps := newProcesses(t, settings, "window: 1s", nil, "n1", "n2")
	ps.begin("n1", "n2")
	ps.agree("n1", "n2")
	tags := map[string]string{}
	for tag := 'a'; tag <= 'z'; tag++ {
		tags[ps.owner("n1", fmt.Sprintf("tagged:{%c}", tag))] = string(tag)
	}
	for _, tag := range tags {
		ps.benchmark(tag, 16, 4*forwardedKeys) // into memory
	}
	t.Logf("redis-benchmark, 16 connections, %d rounds:\n%s", *forwardingRounds, ps.compare(tags))
}

// compare alternates between own and forwarded hits, and shows the middle of
// the rounds as a table.
func (ps *processes) compare(tags map[string]string) string {
	ps.t.Helper()
	var b strings.Builder
	b.WriteString("| pipeline | | own | forwarded | ratio |\n|---|---|---|---|---|\n")
	for _, depth := range []int{1, 16} {
		reads := *forwardingReads
		if depth > 1 {
			reads *= 8
		}
		var own, forwarded []measured
		for range *forwardingRounds {
			own = append(own, ps.benchmark(tags["n1"], depth, reads))
			before := ps.forwarded()
			forwarded = append(forwarded, ps.benchmark(tags["n2"], depth, reads))
			if n := ps.forwarded() - before; n < 0.99*float64(reads) {
				ps.t.Errorf("of %d reads of another node's keys %.0f were forwarded", reads, n)
			}
		}
		for _, row := range []struct {
			name string
			of   func(measured) float64
		}{
			{"reads/s", func(m measured) float64 { return m.rate }},
			{"p50 ms", func(m measured) float64 { return m.p50 }},
			{"p99 ms", func(m measured) float64 { return m.p99 }},
		} {
			fmt.Fprintf(&b, "| %d | %s | %.4g | %.4g | %.2f |\n", depth, row.name, middle(own, row.of), middle(forwarded, row.of), ratios(forwarded, own, row.of))
		}
	}
	return b.String()
}

func (ps *processes) forwarded() float64 {
	return sum(fetch(ps.nodes["n1"].admin, "/metrics"), "freshet_route_reads_total", `outcome="forwarded"`)
}

// benchmark reads keys of a tag at the first node.
func (ps *processes) benchmark(tag string, depth, reads int) (m measured) {
	ps.t.Helper()
	host, port, err := net.SplitHostPort(ps.nodes["n1"].forwards)
	if err != nil {
		ps.t.Fatal(err)
	}
	out, err := exec.Command("redis-benchmark", "-h", host, "-p", port, "-c", "16", "-P", strconv.Itoa(depth), "-n", strconv.Itoa(reads),
		"-r", strconv.Itoa(forwardedKeys), "--csv", "GET", "tagged:{"+tag+"}__rand_int__").Output()
	if err != nil {
		ps.t.Fatalf("redis-benchmark: %v", err)
	}
	text := string(out)
	rows, err := csv.NewReader(strings.NewReader(text[max(0, strings.Index(text, `"test"`)):])).ReadAll()
	if err != nil || len(rows) != 2 {
		ps.t.Fatalf("redis-benchmark says %q, %v", out, err)
	}
	for column, value := range map[string]*float64{"rps": &m.rate, "p50_latency_ms": &m.p50, "p99_latency_ms": &m.p99} {
		i := slices.Index(rows[0], column)
		if i < 0 {
			ps.t.Fatalf("redis-benchmark tells no %s: %q", column, out)
		}
		if *value, err = strconv.ParseFloat(rows[1][i], 64); err != nil {
			ps.t.Fatal(err)
		}
	}
	return m
}

func middle(all []measured, of func(measured) float64) float64 {
	var values []float64
	for _, m := range all {
		values = append(values, of(m))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// ratios is the middle of what each round came to by itself.
func ratios(a, b []measured, of func(measured) float64) float64 {
	var each []measured
	for i := range a {
		each = append(each, measured{rate: of(a[i]) / of(b[i])})
	}
	return middle(each, func(m measured) float64 { return m.rate })
}
