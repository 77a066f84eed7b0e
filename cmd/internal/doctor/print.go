package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/freshet-cache/freshet/cmd/internal/doctor/pipeline"
)

// Report is what was found, as it is printed.
type Report struct {
	Verdict  Level     `json:"verdict"`
	Pipeline *Measure  `json:"pipeline"`
	Findings []Finding `json:"findings"`
}

// Measure is a pipeline in milliseconds.
type Measure struct {
	Measured      bool    `json:"measured"`
	Samples       int     `json:"samples"`
	Interval      float64 `json:"checkpoint_interval_ms"`
	Median        float64 `json:"delay_p50_ms"`
	Delay         float64 `json:"delay_p999_ms"`
	Width         float64 `json:"clock_width_ms"`
	SmallestBound float64 `json:"smallest_bound_ms"`

	pipeline pipeline.Pipeline
	median   time.Duration
}

// Examine judges facts and makes the report of that.
func Examine(f *Facts) *Report {
	r := &Report{Findings: judge(f)}
	r.Verdict = findings(r.Findings).worst()
	p, measured := Measured(f)
	m := &Measure{Measured: measured, pipeline: p}
	for i := range f.Topics {
		if s := f.Topics[i].Stream; s != nil {
			m.Samples += s.Samples
			m.median = max(m.median, s.Median)
		}
	}
	millis := func(d time.Duration) float64 { return float64(d.Round(time.Microsecond)) / float64(time.Millisecond) }
	m.Interval, m.Median, m.Delay, m.Width = millis(p.Interval), millis(m.median), millis(p.Delay), millis(p.Width)
	m.SmallestBound = millis(p.SmallestBound())
	r.Pipeline = m
	return r
}

// JSON writes the report for a program.
func (r *Report) JSON(w io.Writer) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // SQL and regular expressions are to be pasted
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Text writes the report for a person: the worst first, and what is as it
// should be in a few lines at the end.
func (r *Report) Text(w io.Writer) error {
	p := &page{}
	for _, l := range []Level{Error, Warning, Note} {
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Level == l {
				p.finding(f)
			}
		}
	}
	p.fine(r.Findings)
	p.measure(r.Pipeline)
	p.verdict(r)
	return p.write(w)
}

// page is text that grows.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// write writes it. Names, settings and errors are others' words: what would
// move a terminal's cursor, or set its title, is shown and not carried out.
func (p *page) write(w io.Writer) error {
	_, err := io.WriteString(w, strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, p.String()))
	return err
}

func (p *page) finding(f *Finding) {
	p.line("%-8s%s: %s", strings.ToUpper(f.Level.String()), f.title(), f.Found)
	if f.Wanted != "" {
		p.line("  wanted  %s", f.Wanted)
	}
	if f.Why != "" {
		p.line("  why     %s", f.Why)
	}
	p.mend(f.Mend)
	p.line("")
}

func (f *Finding) title() string {
	if f.About == "" {
		return f.Check
	}
	return f.Check + " (" + f.About + ")"
}

// mend writes what to do: words last, as they say what to do with the rest.
func (p *page) mend(m *Mend) {
	if m == nil {
		return
	}
	word := "mend"
	say := func(format string, args ...any) {
		p.line("  %-8s"+format, append([]any{word}, args...)...)
		word = ""
	}
	for i, statement := range m.SQL {
		by := ""
		if i == 0 && m.By != "" {
			by = "   -- by " + m.By
		}
		say("%s;%s", statement, by)
	}
	for _, group := range []struct {
		where    string
		settings map[string]string
	}{{"topic", m.Topic}, {"connector", m.Connector}, {"configuration", m.Config}} {
		for _, name := range slices.Sorted(maps.Keys(group.settings)) {
			say("%s: %s = %s", group.where, name, abridged(group.settings[name]))
		}
	}
	if m.Do != "" {
		say("%s", m.Do)
	}
}

// abridged is a value of a setting as far as it can be read at a glance.
func abridged(value string) string {
	const most = 120
	if len(value) <= most {
		return value
	}
	return value[:most] + "… (--json, and --debezium, have all of it)"
}

// fine names the checks that found nothing, each once.
func (p *page) fine(all []Finding) {
	var names []string
	n := 0
	for i := range all {
		if all[i].Level == OK {
			n++
			names = append(names, all[i].Check)
		}
	}
	if n == 0 {
		return
	}
	line := fmt.Sprintf("%-8s", "OK")
	for i, name := range unique(names) {
		if i > 0 {
			line += ", "
		}
		if len(line)+len(name) > 96 {
			p.line("%s", strings.TrimRight(line, " "))
			line = strings.Repeat(" ", 8)
		}
		line += name
	}
	p.line("%s\n", line)
}

func (p *page) measure(m *Measure) {
	of := &m.pipeline
	switch {
	case m.Measured:
		p.line("bound   the smallest that the stream carries is %s", short(of.SmallestBound()))
		p.line("        = %s between checkpoints + %s delay (p99.9 of %d; half within %s) + %s width of the clock\n",
			short(of.Interval), short(of.Delay), m.Samples, short(m.median), short(of.Width))
	case of.Interval == 0:
		p.line("bound   the stream was not measured, and nothing says how often it has checkpoints\n")
	default:
		p.line("bound   the stream was not measured; at best it carries %s", short(of.SmallestBound()))
		p.line("        = %s between checkpoints, without any delay, + %s width of the clock\n", short(of.Interval), short(of.Width))
	}
}

func (p *page) verdict(r *Report) {
	counts := map[Level]int{}
	for i := range r.Findings {
		counts[r.Findings[i].Level]++
	}
	word := map[Level]string{
		OK: "all is well", Note: "all is well", Warning: "it works, and something is lost", Error: "it does not work, or cannot be relied on",
	}[r.Verdict]
	p.line("%s: %s, %s, %s, %d fine", word, plural(counts[Error], "error"), plural(counts[Warning], "warning"), plural(counts[Note], "note"), counts[OK])
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
