package e2e

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/node"
)

var update = flag.Bool("update", false, "write the golden names anew")

// Dashboards and alarms know metrics by name, so the names are a golden file:
// all that a node and a relay show, with their labels.
func TestMetricNames(t *testing.T) {
	const golden = "testdata/metrics.txt"
	s := newStack(t, everyMapping()...)
	n, c := s.start()
	c.do("GET", "users:1")
	s.config.Relay.Admin = anyPort
	r, err := node.OpenRelay(t.Context(), s.config, s.log())
	if err != nil {
		t.Fatal(err)
	}
	s.spawn("second relay", r.Run) // waits for the outbox, and shows its metrics

	got := s.names("node", n.Admin()) + s.names("relay", r.Admin())
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("metrics have changed; if that is meant, run this test with -update:\n%s", got)
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`freshet_[a-z_]+`).FindAllString(string(readme), -1) {
		if !strings.Contains(got, " "+name+" ") && name != "freshet_outbox" {
			t.Errorf("the README speaks of %s, and there is no such metric", name)
		}
	}
}

// names lists the metrics that an admin port shows: a line each, with who
// shows it, its name, its type and its labels.
func (s *stack) names(who, admin string) string {
	s.t.Helper()
	_, body := s.get(admin, "/metrics")
	labels := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(freshet_\w+)(?:\{(.*)\})? \S+$`).FindAllStringSubmatch(body, -1) {
		var names []string
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			names = append(names, l[1])
		}
		labels[m[1]] = strings.Join(names, ",")
	}
	var lines []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (freshet_\w+) (\w+)$`).FindAllStringSubmatch(body, -1) {
		lines = append(lines, who+" "+m[1]+" "+m[2]+" {"+labels[m[1]]+"}\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
