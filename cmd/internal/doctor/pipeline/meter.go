package pipeline

import (
	"slices"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// most is how many delays a Meter keeps: those of half an hour of checkpoints
// that come ten times a second.
const most = 20_000

// Meter measures a stream by its checkpoints. The zero Meter follows no
// partition.
type Meter struct {
	newest    []proxy.Time // T of each partition's newest checkpoint
	watermark proxy.Time
	delays    []time.Duration
	begin     proxy.Time // the first watermark
	rises     int
}

// NewMeter returns a Meter of that many partitions.
func NewMeter(partitions int) *Meter {
	return &Meter{newest: slices.Repeat([]proxy.Time{proxy.Never}, partitions), watermark: proxy.Never, begin: proxy.Never}
}

// Checkpoint takes in that a partition has brought a checkpoint of time t, when
// the source's clock stood at lo at least.
func (m *Meter) Checkpoint(partition int, t, lo proxy.Time) {
	if partition >= len(m.newest) || t <= m.newest[partition] {
		return
	}
	m.newest[partition] = t
	w := slices.Min(m.newest)
	if w <= m.watermark {
		return
	}
	m.watermark = w
	if m.begin == proxy.Never {
		m.begin = w
		return // how long the other partitions were waited for says nothing of them
	}
	m.rises++
	if len(m.delays) < most && lo != proxy.Never {
		m.delays = append(m.delays, max(0, lo.Sub(w)))
	}
}

// Silent returns the partitions that have brought no checkpoint.
func (m *Meter) Silent() (partitions []int) {
	for id, t := range m.newest {
		if t == proxy.Never {
			partitions = append(partitions, id)
		}
	}
	return partitions
}

// Samples is how many delays were measured.
func (m *Meter) Samples() int { return len(m.delays) }

// Median is the delay that half of the checkpoints stay below.
func (m *Meter) Median() time.Duration { return Quantile(m.delays, 0.5) }

// Pipeline is what was measured, with a clock of that width.
func (m *Meter) Pipeline(width time.Duration) Pipeline {
	p := Pipeline{Delay: Quantile(m.delays, 0.999), Width: width}
	if m.rises > 0 {
		p.Interval = m.watermark.Sub(m.begin) / time.Duration(m.rises)
	}
	return p
}
