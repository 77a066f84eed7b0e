package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/check"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// The pictures over time are all drawn to one scale, one below the other.
const (
	width = 960.0
	left  = 150.0
	right = 940.0
	top   = 26.0
)

// overTime is the frame of a picture over time, with the phases behind it.
type overTime struct {
	*svg
	v      *check.Verdict
	bottom float64
}

func newOverTime(v *check.Verdict, height float64, title string) *overTime {
	o := &overTime{svg: newSVG(width, height, title), v: v, bottom: height - 24}
	for _, p := range v.Phases {
		class := "fault"
		switch p.Name {
		case check.Quiet:
			continue
		case check.Recovering:
			class = "recovering"
		}
		x := o.x(p.From)
		o.rect(x, top, o.x(p.To)-x, o.bottom-top, class, fmt.Sprintf("%s, %s to %s", p.Name, short(p.From.Sub(v.Run.At)), short(p.To.Sub(v.Run.At))))
	}
	o.line(left, o.bottom, right, o.bottom, "axis")
	for t := time.Duration(0); t <= lasted(v); t += tick(lasted(v)) {
		x := o.x(v.Run.At.Add(t))
		o.line(x, o.bottom, x, o.bottom+4, "axis")
		o.text(x, o.bottom+17, "tick middle", t.String())
	}
	return o
}

// tick is a round step of which a duration has at most ten.
func tick(d time.Duration) time.Duration {
	for step := time.Second; ; step *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if d <= 10*n*step {
				return n * step
			}
		}
	}
}

func (o *overTime) x(t history.Time) float64 {
	whole := max(lasted(o.v), 1)
	return left + (right-left)*min(max(float64(t.Sub(o.v.Run.At))/float64(whole), 0), 1)
}

// legend names the curves, from the left.
func (o *overTime) legend(names ...string) {
	x := left
	for i, name := range names {
		o.put(`<line x1="%.1f" y1="14" x2="%.1f" y2="14" class="curve c%d"/>`+"\n", x, x+18, i)
		o.text(x+24, 18, "label", name)
		x += 40 + 7*float64(len([]rune(name)))
	}
}

// decades are the horizontal lines of a scale by powers of ten.
type decades struct{ low, high time.Duration }

func (d decades) share(x time.Duration) float64 {
	x = min(max(x, d.low), d.high)
	return math.Log(float64(x)/float64(d.low)) / math.Log(float64(d.high)/float64(d.low))
}

// power writes a power of ten.
func power(d time.Duration) string {
	if d < time.Second {
		return d.String()
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// lag is how far behind each node's watermark was, over time.
func lag(v *check.Verdict) template.HTML {
	o := newOverTime(v, 240, "age of the watermark of each node over time")
	scale := decades{time.Millisecond, 100 * time.Second}
	y := func(d time.Duration) float64 { return o.bottom - (o.bottom-top)*scale.share(d) }
	for d := scale.low; d <= scale.high; d *= 10 {
		o.line(left, y(d), right, y(d), "grid")
		o.text(left-8, y(d)+4, "tick end", power(d))
	}
	o.bounds(y)
	for i, node := range v.Run.Nodes {
		var curve []point
		for _, l := range v.Lags {
			if l.Node == node {
				curve = append(curve, point{x: o.x(l.At), y: y(l.Age), none: l.Age < 0})
			}
		}
		o.curve(curve, fmt.Sprintf("c%d", i%8))
	}
	o.legend(v.Run.Nodes...)
	return o.done()
}

// bounds draws Δ of each use case into a picture whose height is a duration.
func (o *overTime) bounds(y func(time.Duration) float64) {
	var drawn []time.Duration
	for _, u := range o.v.Run.UseCases {
		if u.Bound > 0 && !slices.Contains(drawn, u.Bound) {
			drawn = append(drawn, u.Bound)
			o.line(left, y(u.Bound), right, y(u.Bound), "bound")
			o.text(right, y(u.Bound)-3, "bound end", "Δ "+u.Bound.String())
		}
	}
}

// hits are the shares of hits, and of reads without an answer, over time.
func hits(v *check.Verdict) template.HTML {
	o := newOverTime(v, 220, "share of hits over time")
	y := func(share float64) float64 { return o.bottom - (o.bottom-top)*share }
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		o.line(left, y(share), right, y(share), "grid")
		o.text(left-8, y(share)+4, "tick end", percent(share))
	}
	of := func(part func(*check.Slot) (uint64, uint64), class string) {
		var curve []point
		for i := range v.Slots {
			n, whole := part(&v.Slots[i])
			middle := v.Run.At.Add(v.SlotWidth*time.Duration(i) + v.SlotWidth/2)
			curve = append(curve, point{x: o.x(middle), y: y(float64(n) / float64(max(whole, 1))), none: whole == 0})
		}
		o.curve(curve, class)
	}
	of(func(s *check.Slot) (uint64, uint64) { return s.Hot.Hits, s.Hot.Reads }, "c0")
	of(func(s *check.Slot) (uint64, uint64) { return s.Hits, s.Proved }, "c1")
	of(func(s *check.Slot) (uint64, uint64) { return s.Troubles, s.Reads }, "c2")
	o.legend("hits on the hot head", "hits, all reads with a proof", "reads without an answer")
	return o.done()
}

// timeline has a row for each check, with a mark where it was violated.
func timeline(v *check.Verdict) template.HTML {
	const row = 18
	o := newOverTime(v, top+24+row*float64(len(v.Checks)), "violations over time")
	for _, p := range v.Phases {
		if x := o.x(p.From); p.Name != check.Quiet && p.Name != check.Recovering {
			o.put(`<text transform="translate(%.1f %.1f) rotate(-90)" class="what">%s</text>`+"\n", x+10, o.bottom-4, template.HTMLEscapeString(clip(p.Name, 34)))
		}
	}
	for i, c := range v.Checks {
		y := top + row*float64(i)
		o.text(left-8, y+13, "tick end", fmt.Sprintf("%s · %s", c.ID, count(c.Violated)))
		o.line(left, y+row, right, y+row, "grid")
		for at, slot := range v.Slots {
			from := v.Run.At.Add(v.SlotWidth * time.Duration(at))
			if n := slot.Violated[i]; n > 0 {
				x := o.x(from)
				o.rect(x, y+2, o.x(from.Add(v.SlotWidth))-x, row-4, "violation", fmt.Sprintf("%s of %s from %s on", count(n), c.ID, short(from.Sub(v.Run.At))))
			}
		}
	}
	return o.done()
}

// staleness has, for each use case, a row for each phase: how long answers had
// been overwritten when their read began, darker where there are more of them.
func staleness(v *check.Verdict) template.HTML {
	const row = 18
	scale := decades{time.Millisecond, 100 * time.Second}
	axis := left + 190
	x := func(d time.Duration) float64 { return axis + (right-110-axis)*scale.share(d) }
	s := newSVG(width, top+row*float64(len(v.Staleness)+1)+24, "staleness of answers by use case and phase")
	bottom := s.height - 24
	s.text(axis-42, 16, "label middle", "not at all")
	s.text(right, 16, "label end", "p99.9 · longest")
	for d := scale.low; d <= scale.high; d *= 10 {
		s.line(x(d), top, x(d), bottom, "grid")
		s.text(x(d), bottom+17, "tick middle", power(d))
	}
	y, before := top, ""
	for _, h := range v.Staleness {
		if h.UseCase != before {
			s.text(4, y+13, "name", fmt.Sprintf("%s · Δ %s", h.UseCase, h.Bound))
			before = h.UseCase
		}
		s.staleRow(&h, x, axis, y, row)
		y += row
	}
	return s.done()
}

func (s *svg) staleRow(h *check.Staleness, x func(time.Duration) float64, axis, y, row float64) {
	name, class := h.Phase, "stale"
	if h.Outside {
		name, class = name+" (marked)", "marked"
	}
	s.text(axis-76, y+13, "tick end", clip(name, 34))
	dark := func(n uint64) float64 {
		if n == 0 {
			return 0
		}
		return 0.15 + 0.85*math.Log1p(float64(n))/math.Log1p(float64(h.Total()))
	}
	s.shade(axis-66, y+2, 48, row-4, dark(h.None), class, count(h.None)+" of "+count(h.Total()))
	for i, n := range h.Counts {
		if n > 0 {
			from, to := x(check.Edge(i-1)), x(check.Edge(i))
			s.shade(from, y+2, max(to-from, 1), row-4, dark(n), class, fmt.Sprintf("%s up to %s", count(n), short(check.Edge(i))))
		}
	}
	s.line(x(h.Bound), y, x(h.Bound), y+row, "bound")
	s.text(right, y+13, "tick end", short(h.Quantile(0.999))+" · "+short(h.Max))
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
