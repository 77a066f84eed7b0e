package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/doctor/pipeline"
)

var update = flag.Bool("update", false, "write the golden files anew")

const at = history.Time(time.Hour)

// verdict is one of a small run.
func verdict(result check.Result) *check.Verdict {
	v := &check.Verdict{
		Result: result,
		Run: history.Run{Command: "freshet conform --embedded --seed 7", Seed: 7, Started: time.Unix(1.7e9, 0), At: at, Nodes: []string{"n1", "n2"},
			UseCases: []history.UseCase{{Name: "users", Bound: 2 * time.Second}}},
		Ended:   at.Add(40 * time.Second),
		Reads:   check.Reads{All: 1_234_567, Answered: 1_234_560, Proved: 1_000_000, Hits: 950_000, Lifted: 600_000, Unavailable: 5, Lost: 2},
		Writes:  map[string]int{"update": 9000, "delete": 100, "rolled back": 12},
		Reasons: map[string]int{"cold": 3000, "changed": 47_000},
		Fills:   50_000,
		Healthy: check.Share{Reads: 300_000, Hits: 291_000, Lifted: 200_000},
		Phases: []check.Phase{
			{Name: check.Quiet, From: at, To: at.Add(10 * time.Second)},
			{Name: "freeze + kill", From: at.Add(10 * time.Second), To: at.Add(12 * time.Second), After: true},
			{Name: check.Recovering, From: at.Add(12 * time.Second), To: at.Add(22 * time.Second), After: true},
			{Name: check.Quiet, From: at.Add(22 * time.Second), To: at.Add(40 * time.Second), After: true},
		},
		SlotWidth: time.Second,
		Slots:     []check.Slot{{Reads: 100, Proved: 80, Hits: 40, Hot: check.Share{Reads: 20, Hits: 20}}, {}, {Reads: 10, Troubles: 5}},
		Lags:      []history.Lag{{At: at, Node: "n1", Age: time.Millisecond}, {At: at.Add(time.Second), Node: "n1", Age: -1}, {At: at.Add(2 * time.Second), Node: "n1", Age: time.Second}},
		Visibility: []check.Visibility{
			{Bound: 2 * time.Second, Phase: check.Quiet, Probes: 5000, Hits: 4000},
			{Bound: 2 * time.Second, Phase: "freeze + kill", Probes: 500, Late: 1, Unanswered: 2, Hits: 100},
		},
		Staleness: []check.Staleness{{UseCase: "users", Phase: check.Quiet, Bound: 2 * time.Second}, {UseCase: "users", Phase: "freeze + kill", Bound: 2 * time.Second, Outside: true}},
	}
	v.Staleness[0].None, v.Staleness[0].Counts[20], v.Staleness[0].Max = 1000, 10, 3*time.Millisecond
	for id := range 12 {
		v.Checks = append(v.Checks, check.Count{ID: check.ID(id).String(), Says: check.ID(id).Says(), Judged: uint64(100_000 * id), Hits: 7})
	}
	switch result {
	case check.Violated:
		v.Checks[3].Violated = 7000
		v.Slots[0].Violated[3], v.Slots[2].Violated[3], v.Slots[2].Violated[10] = 6000, 1000, 1
		for i := range 7 {
			v.Violations = append(v.Violations, check.Violation{Check: "C3", At: at.Add(time.Duration(11+i) * time.Second), Key: "users:<b>4", Node: "n1", Phase: "freeze + kill", What: "version 7 had been overwritten for 3s"})
		}
	case check.Held:
		v.Pipeline = &pipeline.Pipeline{Interval: 50 * time.Millisecond, Delay: 23 * time.Millisecond, Width: 900 * time.Microsecond}
	case check.Inconclusive:
		v.Missing = []string{"C6 had nothing to judge: no read was in a session"}
		v.Unmade = []string{"kill of relay", "topic made anew of broker"}
	}
	return v
}

func TestPrint(t *testing.T) {
	for _, result := range []check.Result{check.Held, check.Violated, check.Inconclusive} {
		t.Run(string(result), func(t *testing.T) {
			var b bytes.Buffer
			if err := Print(&b, verdict(result)); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", string(result)+".txt")
			if *update {
				if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if b.String() != string(want) {
				t.Errorf("%s\nwanted is\n%s", &b, want)
			}
		})
	}
}

// The page needs nothing but itself, and its pictures are sound.
func TestPage(t *testing.T) {
	for _, result := range []check.Result{check.Held, check.Violated, check.Inconclusive} {
		v := verdict(result)
		data, err := html(v)
		if err != nil {
			t.Fatal(err)
		}
		page := string(data)
		for _, foreign := range []string{"<script", "src=", "href=", "http:", "https:", "url(", "NaN", "Inf", "users:<b>"} {
			if strings.Contains(page, foreign) {
				t.Errorf("%s: the page holds %q", result, foreign)
			}
		}
		pictures := strings.Split(page, "<svg ")[1:]
		if len(pictures) != 4 {
			t.Fatalf("%d pictures", len(pictures))
		}
		for _, p := range pictures {
			text, _, _ := strings.Cut(p, "</svg>")
			if err := wellFormed("<svg " + text + "</svg>"); err != nil {
				t.Errorf("%s: %v in %s", result, err, text)
			}
		}
		told := map[string]bool{
			"Changes of keys: 9,100.": true, "Faults: freeze, kill.": true,
			"topic made anew of broker": result == check.Inconclusive, "reads hit from Δ = 73.9ms on": result == check.Held,
		}
		for text, is := range told {
			if strings.Contains(page, text) != is {
				t.Errorf("%s: it tells %q: %v", result, text, !is)
			}
		}
		want := 0
		if result == check.Violated {
			want = 3
		}
		if marks := strings.Count(page, `class="violation"`); marks != want {
			t.Errorf("%s: %d marks on the time line, and %d are wanted", result, marks, want)
		}
		if bounds := strings.Count(pictures[1], `class="bound"`); bounds != len(v.Staleness) {
			t.Errorf("%s: Δ is drawn %d times into %d distributions", result, bounds, len(v.Staleness))
		}
	}
}

func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestWrite(t *testing.T) {
	v, dir := verdict(check.Violated), t.TempDir()
	for range 2 { // the second over the first
		if err := Write(dir, v); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var again check.Verdict
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	again.Run.Started = v.Run.Started
	if !reflect.DeepEqual(v, &again) {
		t.Errorf("%+v\nis read again as\n%+v", v, again)
	}
	if err := Write(filepath.Join(dir, "nowhere"), v); err == nil {
		t.Error("a report was written to nowhere")
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		part, whole uint64
		want        string
	}{
		{0, 0, "–"}, {0, 5, "0.0 %"}, {5, 5, "100.0 %"}, {1, 3, "33.3 %"}, {99_999, 100_000, "99.999 %"}, {1, 1_000_000, "0.0001 %"}, {99_999_999, 100_000_000, "99.999999 %"},
	} {
		if got := share(c.part, c.whole); got != c.want {
			t.Errorf("%d of %d is %s, and should be %s", c.part, c.whole, got, c.want)
		}
	}
}
