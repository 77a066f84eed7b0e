package doctor

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The query of the heartbeat is package postgres' own, and long.
var beat = regexp.MustCompile(`WITH asynchronous .* FROM facts AS f`)

// golden compares what was printed with a file.
func golden(t *testing.T, name string, print func(*bytes.Buffer) error) {
	t.Helper()
	var got bytes.Buffer
	if err := print(&got); err != nil {
		t.Fatal(err)
	}
	path := "testdata/" + name
	text := beat.ReplaceAllString(got.String(), "WITH (the heartbeat's query)")
	got.Reset()
	got.WriteString(text)
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("%s is no longer what is printed (go test -update writes it anew):\n%s", path, &got)
	}
}

// sick is a deployment with a few things wrong, of each kind of mend.
func sick(t *testing.T) *Facts {
	f := relayed(t)
	f.Database.Server.WALLevel = "replica"
	f.Database.Publication.Omits = []string{"truncate"}
	f.Topics[0].Facts.Settings["retention.ms"] = "1800000"
	f.Config.UseCases[1].Bound = config.Duration(50 * time.Millisecond)
	f.Relays[1].Err = errAway
	return f
}

func TestReportAsText(t *testing.T) {
	golden(t, "report.golden", func(b *bytes.Buffer) error { return Examine(sick(t)).Text(b) })
	golden(t, "fine.golden", func(b *bytes.Buffer) error { return Examine(kept(t)).Text(b) })
}

func TestReportAsJSON(t *testing.T) {
	golden(t, "report.json.golden", func(b *bytes.Buffer) error { return Examine(sick(t)).JSON(b) })
	var b bytes.Buffer
	if err := Examine(sick(t)).JSON(&b); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Verdict != Error || back.Pipeline.SmallestBound != 122 {
		t.Errorf("read back: %v, %+v, %v", back.Verdict, back.Pipeline, err)
	}
}

// What was not measured is not told as a figure.
func TestUnmeasured(t *testing.T) {
	silent := func(f *Facts) *Facts {
		for i := range f.Topics {
			f.Topics[i].Stream = nil
		}
		return f
	}
	unknown := silent(captured(t))
	unknown.Connectors = nil
	for want, f := range map[string]*Facts{
		"not measured; at best it carries 10":                         silent(relayed(t)),  // what the relay's interval allows
		"not measured; at best it carries 25":                         silent(captured(t)), // the heartbeat's
		"not measured, and nothing says how often it has checkpoints": unknown,
	} {
		var b strings.Builder
		if err := Examine(f).Text(&b); err != nil || !strings.Contains(b.String(), want) || strings.Contains(b.String(), "p99.9 of 0") {
			t.Errorf("%v; it does not say %q, or speaks of delays:\n%s", err, want, &b)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for level, f := range map[Level]*Facts{Error: sick(t), Note: relayed(t), OK: kept(t)} {
		var b strings.Builder
		r := Examine(f)
		if err := r.Text(&b); err != nil || r.Verdict != level {
			t.Errorf("%v: the verdict is %v, %v", level, r.Verdict, err)
		}
	}
}

func TestPlanAsText(t *testing.T) {
	for name, f := range map[string]*Facts{"plan.golden": unplanned(t), "plan-new.golden": fresh(t)} {
		golden(t, name, func(b *bytes.Buffer) error {
			plans, err := Plans(f)
			if err != nil {
				return err
			}
			return plans[0].Text(b)
		})
	}
}

func TestPlanAsJSON(t *testing.T) {
	f := unplanned(t)
	golden(t, "plan.json.golden", func(b *bytes.Buffer) error {
		plans, err := Plans(f)
		if err != nil {
			return err
		}
		return plans[0].JSON(b)
	})
}

// unplanned is a deployment whose connector knows nothing of checkpoints.
func unplanned(t *testing.T) *Facts {
	f := captured(t)
	f.Database.Checkpoints[0].Published.In = false
	f.Connectors[0].Config = map[string]string{
		"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "topic.prefix": "shop", "plugin.name": "pgoutput",
		"database.user": "debezium", "table.include.list": "public.users",
		"transforms": "rows", "transforms.rows.type": regexRouter, "transforms.rows.regex": `(\w+)\.log\.(.*)`, "transforms.rows.replacement": "$1.$2",
	}
	return f
}

// fresh is one without a connector, or anything in Kafka.
func fresh(t *testing.T) *Facts {
	f := captured(t)
	f.Connectors, f.Topics = nil, nil
	return f
}

// What a plan says, carried out, leaves nothing wrong with the connector.
func TestAPlanIsEnough(t *testing.T) {
	f := unplanned(t)
	plans, err := Plans(f)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range plans[0].Connector {
		f.Connectors[0].Config[name] = value
	}
	f.Database.Checkpoints[0].Published.In = true
	if bad := unfine(judge(f), "note failover"); len(bad) > 0 {
		t.Errorf("%q", bad)
	}
	// And there is nothing more to say.
	again, err := planFor(f, &f.Connectors[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range again.Connector {
		if f.Connectors[0].Config[name] != value {
			t.Errorf("a second plan changes %s to %q", name, value)
		}
	}
}

func TestPlansRefused(t *testing.T) {
	if _, err := Plans(relayed(t)); err == nil || !strings.Contains(err.Error(), "stream.format") {
		t.Errorf("of a relay's stream: %v", err)
	}
	f := captured(t)
	f.Connect = errAway
	if _, err := Plans(f); err == nil {
		t.Error("of connectors that nobody knows")
	}
	f = captured(t)
	f.Config.UseCases[0].Table = "a.b.c"
	if _, err := Plans(f); err == nil || !strings.Contains(err.Error(), "a.b.c") {
		t.Errorf("of a table without a name: %v", err)
	}
}

func TestRowsAreEnough(t *testing.T) {
	for partitions, want := range map[int]int{0: 16, 1: 16, 2: 16, 3: 19, 12: 90, 100: 961} {
		if got := rowsFor(partitions); got != want {
			t.Errorf("%d partitions: %d rows, want %d", partitions, got, want)
		}
	}
}
