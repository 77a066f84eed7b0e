package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

//go:embed page.html
var pageText string

// Write writes both reports into a folder, over those of an earlier run.
func Write(folder string, v *check.Verdict) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	page, err := html(v)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	for name, content := range map[string][]byte{"report.json": append(data, '\n'), "report.html": page} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return history.Advise("write the report", err)
		}
	}
	return nil
}

// html is the page.
func html(v *check.Verdict) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"n": count, "share": share, "d": short, "carries": carries,
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, content{
		Verdict:   v,
		Headline:  headline(v),
		Lasted:    short(lasted(v)),
		Faults:    faults(v),
		Staleness: staleness(v),
		Lag:       lag(v),
		Hits:      hits(v),
		Timeline:  timeline(v),
	})
	return b.Bytes(), err
}

// content is what the page is filled with.
type content struct {
	*check.Verdict
	Headline                       string
	Lasted                         string
	Faults                         []string
	Staleness, Lag, Hits, Timeline template.HTML
}

// headline is the outcome in one sentence.
func headline(v *check.Verdict) string {
	switch v.Result {
	case check.Held:
		return "Every check held."
	case check.Violated:
		var broken []string
		for _, c := range v.Checks {
			if c.Violated > 0 {
				broken = append(broken, fmt.Sprintf("%s %s times", c.ID, count(c.Violated)))
			}
		}
		return "The promise was broken: " + strings.Join(broken, ", ") + "."
	}
	return "No check was broken, but the run proves too little."
}

func lasted(v *check.Verdict) time.Duration {
	return v.Phases[len(v.Phases)-1].To.Sub(v.Run.At)
}

// count writes a whole number with its thousands apart.
func count(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// share writes part of whole in percent, with as many digits as tell it from
// all and from nothing.
func share(part, whole uint64) string {
	if whole == 0 {
		return "–"
	}
	p := 100 * float64(part) / float64(whole)
	for digits := 1; digits < 6; digits++ {
		s := fmt.Sprintf("%.*f", digits, p)
		full := s == fmt.Sprintf("%.*f", digits, 100.0) && part < whole
		none := s == fmt.Sprintf("%.*f", digits, 0.0) && part > 0
		if !full && !none {
			return s + " %"
		}
	}
	return fmt.Sprintf("%g %%", p)
}

func percent(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) }

// short writes a duration with three digits.
func short(d time.Duration) string {
	unit := time.Nanosecond
	for unit < d/1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
