package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/doctor"
	"github.com/freshet-cache/freshet/cmd/internal/node"
)

// The status says the worst that was found.
func TestDoctorsStatus(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.db")
	if err := node.Sample(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	broker, err := node.OpenBroker("127.0.0.1:0", filepath.Join(dir, "kafka"), "shop", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	lines := func(brokers string) []string {
		return []string{`node: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}`, `relay: {admin: "127.0.0.1:0"}`, `source: {sqlite: {path: ` + path + `}}`,
			`stream: {kafka: {brokers: ["` + brokers + `"], topic: shop}}`, `use_cases: [{name: u, table: users}]`}
	}
	good, bad := configuration(t, lines(broker.Address())...), configuration(t, lines("127.0.0.1:1")...)
	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{0, "all is well: 0 errors, 0 warnings", []string{"--config", good, "--watch", "0s"}},
		{3, "WARNING checkpoints (shop)", []string{"--config", good, "--watch", "10ms"}},
		{1, "ERROR   topic (shop)", []string{"--config", bad, "--watch", "0s"}},
	} {
		status, stdout, stderr := called(t, append([]string{"doctor"}, c.args...)...)
		if status != c.status || !strings.Contains(stdout, c.says) || stderr != "" {
			t.Errorf("%q: status %d, %s%s", c.args, status, stdout, stderr)
		}
	}
	status, stdout, _ := called(t, "doctor", "--config", bad, "--json", "--watch", "0s")
	var r doctor.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || status != 1 || r.Verdict != doctor.Error || len(r.Findings) == 0 {
		t.Errorf("as JSON: %d, %v\n%s", status, err, stdout)
	}
}

func TestDoctorCalledWrongly(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--config"}, {"--config", "x", "--watch", "-1s"}, {"--config", "x", "--outage", "0s"}, {"--config", "x", "--topics", "a"},
		{"--config", "x", "--connect", "a", "--connector", "b"}, {"--config", "x", "more"},
	} {
		if status, _, stderr := called(t, append([]string{"doctor"}, args...)...); status != 2 {
			t.Errorf("%q: status %d, %s", args, status, stderr)
		}
	}
	if status, _, stderr := called(t, "doctor", "--config", filepath.Join(t.TempDir(), "none.yaml")); status != 1 || !strings.Contains(stderr, "name a configuration") {
		t.Errorf("no configuration: status %d, %s", status, stderr)
	}
}

// What a connector has to be told is printed for the topics that are named.
func TestDoctorPrintsWhatAConnectorNeeds(t *testing.T) {
	file := configuration(t, `node: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}`, `source: {sqlite: {path: shop.db}}`,
		`stream: {kafka: {brokers: ["127.0.0.1:1"]}}`, `use_cases: [{name: u, table: users}]`)
	args := []string{"doctor", "--config", file, "--debezium", "--topics", "shop.public.users,shop.all"}
	status, stdout, stderr := called(t, args...)
	for _, want := range []string{
		`INSERT INTO "public"."freshet_checkpoint_2"`, "heartbeat.action.query=WITH ", "skipped.operations=none",
		"transforms.freshetCheckpoint2.replacement=shop.all\n", `transforms.freshetCheckpoint1.regex=shop\\.public\\.freshet_checkpoint` + "\n",
	} {
		if status != 0 || !strings.Contains(stdout, want) {
			t.Errorf("status %d, and not said: %q\n%s%s", status, want, stdout, stderr)
		}
	}
	status, stdout, _ = called(t, append(args, "--json")...)
	var plan struct {
		Config map[string]string
		SQL    []string
	}
	if err := json.Unmarshal([]byte(stdout), &plan); err != nil || status != 0 || plan.Config["transforms"] != "freshetCheckpoint1,freshetCheckpoint2" || len(plan.SQL) != 6 {
		t.Errorf("as JSON: %d, %v\n%s", status, err, stdout)
	}
	if status, _, stderr := called(t, "doctor", "--config", file, "--debezium"); status != 1 || !strings.Contains(stderr, "stream.format") {
		t.Errorf("of no topics: status %d, %s", status, stderr)
	}
}
