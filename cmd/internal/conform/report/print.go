package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
)

// Print writes the verdict for a person.
func Print(w io.Writer, v *check.Verdict) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s  %s\n", strings.ToUpper(string(v.Result)), headline(v))
	for i, x := range v.Violations {
		if i == 0 || v.Violations[i-1].Check != x.Check { // the earliest of each check
			fmt.Fprintf(&b, "  - %s\n", violation(v, x))
		}
	}
	for _, why := range v.Missing {
		fmt.Fprintf(&b, "  - %s\n", why)
	}
	for _, what := range v.Unchecked {
		fmt.Fprintf(&b, "not checked here: %s\n", what)
	}
	r := v.Reads
	fmt.Fprintf(&b, "\n%s reads and %s changes of keys in %s by %d nodes, %s fills; %s of the reads with a proof were hits, %s of those older than Δ but for the stream\n",
		count(r.All), count(v.Changes()), short(lasted(v)), len(v.Run.Nodes), count(v.Fills), share(r.Hits, r.Proved), share(r.Lifted, r.Hits))
	if n := r.Unavailable + r.Lost + r.Refused; n > 0 || r.Outside > 0 {
		fmt.Fprintf(&b, "%s reads had no answer (%s unavailable, %s lost with their connection, %s refused), %s were outside the bound and marked so\n",
			count(n), count(r.Unavailable), count(r.Lost), count(r.Refused), count(r.Outside))
	}
	fmt.Fprintf(&b, "the hot head while nothing was wrong: %s reads, %s hits, %s of those older than Δ but for the stream\n",
		count(v.Healthy.Reads), share(v.Healthy.Hits, v.Healthy.Reads), share(v.Healthy.Lifted, v.Healthy.Hits))
	var did []string
	for _, what := range v.Actions() {
		did = append(did, count(v.Writes[what])+" "+what)
	}
	fmt.Fprintf(&b, "writes: %s\n", strings.Join(did, ", "))
	fmt.Fprintf(&b, "faults: %s\n", strings.Join(faults(v), ", "))
	if n := len(v.Unmade); n > 0 {
		fmt.Fprintf(&b, "there was no time for %s more of them, which the page with the pictures names; --duration gives it\n", count(n))
	}
	fmt.Fprintln(&b)
	counts(&b, v)
	visibility(&b, v)
	_, err := io.WriteString(w, b.String())
	return err
}

func violation(v *check.Verdict, x check.Violation) string {
	return fmt.Sprintf("%s at %s, %s: %s", x.Check, short(x.At.Sub(v.Run.At)), strings.Join(slices.DeleteFunc(
		[]string{x.Phase, x.Node, x.Key}, func(s string) bool { return s == "" }), ", "), x.What)
}

// faults are the names of those that the run had.
func faults(v *check.Verdict) []string {
	var out []string
	for _, p := range v.Phases {
		if p.Name != check.Quiet && p.Name != check.Recovering {
			out = append(out, strings.Split(p.Name, " + ")...)
		}
	}
	if len(out) == 0 {
		return []string{"none"}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func counts(b *strings.Builder, v *check.Verdict) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "check\tjudged\thits\tfills\tlifted\texcused\tviolated\t")
	for _, c := range v.Checks {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.ID, count(c.Judged), count(c.Hits), count(c.Fills), count(c.Lifted), count(c.Excused), count(c.Violated))
	}
	t.Flush() // into memory
}

// visibility is the headline figure: while nothing was wrong, while faults
// went on, and all together.
func visibility(b *strings.Builder, v *check.Verdict) {
	type row struct{ all, quiet, disturbed check.Visibility }
	byBound := map[time.Duration]*row{}
	var bounds []time.Duration
	for _, x := range v.Visibility {
		r := byBound[x.Bound]
		if r == nil {
			r = &row{}
			byBound[x.Bound] = r
			bounds = append(bounds, x.Bound)
		}
		r.all = sum(r.all, x)
		switch x.Phase {
		case check.Quiet:
			r.quiet = sum(r.quiet, x)
		case check.Recovering:
		default:
			r.disturbed = sum(r.disturbed, x)
		}
	}
	if len(bounds) == 0 {
		return
	}
	fmt.Fprintf(b, "\nwrites visible everywhere after Δ, of those that were looked for\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "Δ\tin all\tof\thits\thealthy\tof\thits\tdisturbed\tof\thits\t")
	for _, bound := range bounds {
		fmt.Fprintf(t, "%s\t", bound)
		for _, x := range []check.Visibility{byBound[bound].all, byBound[bound].quiet, byBound[bound].disturbed} {
			fmt.Fprintf(t, "%s\t%s\t%s\t", share(x.Probes-x.Late, x.Probes), count(x.Probes), share(x.Hits, x.Probes))
		}
		fmt.Fprintln(t)
	}
	t.Flush() // into memory
	if v.Pipeline != nil {
		fmt.Fprintln(b, carries(v))
	}
}

// carries is which bounds the stream can carry, and why, where that was
// measured.
func carries(v *check.Verdict) string {
	p := v.Pipeline
	return fmt.Sprintf("checkpoints came every %s and 99.9 %% of them took up to %s, and the clock was known to within %s: reads hit from Δ = %s on",
		short(p.Interval), short(p.Delay), short(p.Width), short(p.SmallestBound()))
}

func sum(a, b check.Visibility) check.Visibility {
	a.Probes += b.Probes
	a.Late += b.Late
	a.Hits += b.Hits
	a.Unanswered += b.Unanswered
	return a
}
