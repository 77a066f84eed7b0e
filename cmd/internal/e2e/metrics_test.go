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
// all that a node and a relay show, with every value of their labels and what
// they say of themselves. No client adds to that.
func TestMetricNames(t *testing.T) {
	const golden = "testdata/metrics.txt"
	s := newStack(t, everyMapping()...)
	s.config.Audit.Enabled = true
	s.config.Tier.Name, s.config.Tier.Listen, s.config.Tier.Members = "a", anyPort, []string{nobody}
	n, c := s.start()
	c.do("GET", "users:1")
	s.config.Relay.Admin = anyPort
	r, err := node.OpenRelay(t.Context(), s.config, s.log())
	if err != nil {
		t.Fatal(err)
	}
	s.spawn("second relay", r.Run) // waits for the outbox, and shows its metrics

	got := s.names("node", n.Admin()) + s.names("relay", r.Admin())
	for _, strange := range [][]string{
		{"nobody's command"}, {"\xff\xfe"}, {"GET", "nobody:1"}, {"GET", "users:\xff"}, {"GET", "key:\xff\"\n"},
		{"CLIENT", "SETNAME", "\xff"}, {"HELLO", "3", "AUTH", "\xff", "x"}, {"FRESHET.INVALIDATE", "USECASE", "nobody"},
	} {
		_, _ = c.Do(strange...) // an error, or none: either is an answer
	}
	if after := s.names("node", n.Admin()) + s.names("relay", r.Admin()); after != got {
		t.Errorf("what clients sent has made metrics:\n%s", after)
	}
	got += connectorNames(t)
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
	for _, file := range []string{"../../../README.md", "../../../testdata/alerts.yaml", "../../../testdata/compose/grafana/freshet.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`freshet_[a-z_]+`).FindAllString(string(text), -1) {
			// The relay of PostgreSQL has some of its own, which are not shown here.
			own := strings.HasPrefix(name, "freshet_relay_postgres_")
			if !strings.Contains(got, " "+name+" ") && name != "freshet_outbox" && !own {
				t.Errorf("%s speaks of %s, and there is no such metric", file, name)
			}
		}
	}
}

// connectorNames are the metrics that only a node has which follows a
// connector.
func connectorNames(t *testing.T) string {
	s, c := connected(t, map[string]int{"users": 1}, "users")
	s.spawn("heartbeats", c.beats)
	n := s.node()
	s.await(n)
	var own strings.Builder
	for line := range strings.Lines(s.names("node", n.Admin())) {
		if strings.HasPrefix(line, "node freshet_debezium_") {
			own.WriteString(line)
		}
	}
	return own.String()
}

// unitless are the gauges that count, or answer yes or no.
var unitless = map[string]string{
	"freshet_build_info":              "always 1",
	"freshet_ready":                   "yes or no",
	"freshet_cdc_watermark_held":      "yes or no",
	"freshet_connections":             "connections",
	"freshet_ring_slots_owned":        "slots",
	"freshet_ring_version":            "a number",
	"freshet_tier_members":            "members",
	"freshet_tier_degraded":           "yes or no",
	"freshet_peers":                   "peers",
	"freshet_peer_connections":        "connections",
	"freshet_peer_waiting":            "requests",
	"freshet_peer_served_connections": "connections",
	"freshet_route_hot_keys":          "keys",
	"freshet_ramp_limit":              "loads",
	"freshet_ramp_running":            "loads",
	"freshet_ramp_waiting":            "loads",
}

var units = regexp.MustCompile(`_(seconds|bytes|records|changes|ratio)$`)

// names lists the metrics that an admin port shows: a line each, with who
// shows it, its name, its type, its labels with all their values, and its
// help. Each must have a help and a unit.
func (s *shop) names(who, admin string) string {
	s.t.Helper()
	_, body := s.get(admin, "/metrics")
	help := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^# HELP (freshet_\w+) (.*)$`).FindAllStringSubmatch(body, -1) {
		help[m[1]] = m[2]
	}
	var lines []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (freshet_\w+) (\w+)$`).FindAllStringSubmatch(body, -1) {
		name, kind := m[1], m[2]
		_, counts := unitless[name]
		if kind == "counter" && !strings.HasSuffix(name, "_total") || kind == "gauge" && !units.MatchString(name) && !counts {
			s.t.Errorf("the name of %s %s does not tell its unit", kind, name)
		}
		if !strings.HasSuffix(help[name], ".") {
			s.t.Errorf("%s has the help %q, which is no sentence", name, help[name])
		}
		lines = append(lines, who+" "+name+" "+kind+" {"+labels(body, name)+"} "+help[name]+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// labels lists the labels of a metric, each with the values it takes.
func labels(body, name string) string {
	values := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^`+name+`\{(.*)\} \S+$`).FindAllStringSubmatch(body, -1) {
		for _, l := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(m[1], -1) {
			if l[1] == "version" {
				l[2] = "…"
			}
			if !slices.Contains(values[l[1]], l[2]) {
				values[l[1]] = append(values[l[1]], l[2])
			}
		}
	}
	var out []string
	for label, v := range values {
		slices.Sort(v)
		out = append(out, label+"="+strings.Join(v, "|"))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
