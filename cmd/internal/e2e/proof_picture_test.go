package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// gaugeEvery is how often the nodes' counters are read.
const gaugeEvery = 500 * time.Millisecond

// misses is how many of the guests' reads were fills of the source, over time,
// by the nodes' counters.
type misses struct {
	mu     sync.Mutex
	begun  time.Time
	points []missPoint
	marks  []missMark
	last   map[string]missPoint
	stop   context.CancelFunc
	ended  chan struct{}
}

type missPoint struct {
	at          time.Duration
	hits, fills float64
}

// missMark is something that was done to the tier.
type missMark struct {
	at   time.Duration
	what string
}

// rate is the share of fills.
func (p missPoint) rate() float64 {
	if p.hits+p.fills == 0 {
		return 0
	}
	return p.fills / (p.hits + p.fills)
}

// watch begins to read.
func (ps *processes) watch() *misses {
	ctx, stop := context.WithCancel(context.Background())
	m := &misses{begun: time.Now(), last: map[string]missPoint{}, stop: stop, ended: make(chan struct{})}
	ps.sample(m) // what was counted before is not of the picture
	m.points = nil
	go func() {
		defer close(m.ended)
		tick := time.NewTicker(gaugeEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				ps.sample(m)
			}
		}
	}()
	ps.t.Cleanup(m.end)
	return m
}

func (m *misses) end() {
	m.stop()
	<-m.ended
}

// sample adds what was counted since the last time. What a node counted
// between the last look and its end is lost; a node that starts again counts
// from nothing.
func (ps *processes) sample(m *misses) {
	p := missPoint{at: time.Since(m.begun)}
	for _, name := range ps.names {
		if ps.nodes[name].PID() == 0 {
			continue
		}
		text := fetch(ps.nodes[name].admin, "/metrics")
		now := missPoint{
			hits:  sum(text, "freshet_cache_hits_total", `use_case="guests"`),
			fills: sum(text, "freshet_cache_fills_total", `use_case="guests"`),
		}
		before := m.last[name]
		if now.hits < before.hits || now.fills < before.fills {
			before = missPoint{}
		}
		p.hits += now.hits - before.hits
		p.fills += now.fills - before.fills
		if strings.Contains(text, "freshet_cache_hits_total") {
			m.last[name] = now
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.points = append(m.points, p)
}

func (m *misses) mark(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marks = append(m.marks, missMark{time.Since(m.begun), what})
}

// numbers are the points as a table with commas. It is called after the end.
func (m *misses) numbers() string {
	var b strings.Builder
	b.WriteString("seconds,hits,fills,miss rate\n")
	for _, p := range m.points {
		fmt.Fprintf(&b, "%.1f,%.0f,%.0f,%.4f\n", p.at.Seconds(), p.hits, p.fills, p.rate())
	}
	for _, k := range m.marks {
		fmt.Fprintf(&b, "# %.1f %s\n", k.at.Seconds(), k.what)
	}
	return b.String()
}

// worst is the largest rate over about two seconds, from a mark on, and how
// many fills there were from it to the end.
func (m *misses) worst(from string) (rate, fills float64) {
	begin := m.begun
	for _, k := range m.marks {
		if k.what == from {
			begin = m.begun.Add(k.at)
		}
	}
	for i, p := range m.points {
		if m.begun.Add(p.at).Before(begin) {
			continue
		}
		fills += p.fills
		sum := missPoint{}
		for _, q := range m.points[i:] {
			if q.at > p.at+2*time.Second {
				break
			}
			sum.hits, sum.fills = sum.hits+q.hits, sum.fills+q.fills
		}
		rate = max(rate, sum.rate())
	}
	return rate, fills
}

// The size of a picture, and of what its curve has.
const (
	pictureWide, pictureHigh = 960.0, 260.0
	pictureLeft, pictureTop  = 60.0, 60.0
)

// picture draws rates over time, and what was done when. most is the rate at
// the upper end of the scale.
func (m *misses) picture(title string, most float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="12">`+"\n", pictureWide, pictureHigh)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><text x="%g" y="16" font-size="14">%s</text>`+"\n", pictureLeft, title)
	long := time.Second
	if n := len(m.points); n > 0 {
		long = m.points[n-1].at
	}
	x := func(at time.Duration) float64 {
		return pictureLeft + (pictureWide-20-pictureLeft)*at.Seconds()/long.Seconds()
	}
	bottom := pictureHigh - 30
	y := func(rate float64) float64 { return bottom - (bottom-pictureTop)*min(rate/most, 1) }
	for i := range 6 {
		r := most * float64(i) / 5
		fmt.Fprintf(&b, `<path d="M%g %.1fH%g" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%.0f %%</text>`+"\n", pictureLeft, y(r), pictureWide-20, pictureLeft-6, y(r)+4, 100*r)
	}
	step := max(5*time.Second, (long / 10).Round(5*time.Second))
	for at := time.Duration(0); at <= long; at += step {
		fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle">%v</text>`+"\n", x(at), bottom+18, at)
	}
	for i, k := range m.marks {
		fmt.Fprintf(&b, `<path d="M%.1f %gV%g" stroke="#c60" stroke-dasharray="3 3"/><text x="%.1f" y="%g" fill="#c60">%s</text>`+"\n", x(k.at), pictureTop-4, bottom, x(k.at)+3, pictureTop-6-float64(i%3)*13, k.what)
	}
	b.WriteString(`<path fill="none" stroke="#06c" stroke-width="1.5" d="`)
	for i, p := range m.points {
		fmt.Fprintf(&b, "%c%.1f %.1f", "ML"[min(i, 1)], x(p.at), y(p.rate()))
	}
	b.WriteString("\"/>\n</svg>\n")
	return b.String()
}
